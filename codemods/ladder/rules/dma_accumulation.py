"""NKV005 dma-accumulation: ``dma_copy(dst_rmw_op=nl.add)`` becomes ``dma_compute`` with ``dst`` among ``srcs``.

Why: since 0.3 ``dma_copy`` neither accumulates nor takes ``unique_indices``.

Safe: the sum has the same two operands in float32. ``dst`` stands among ``srcs``, as in the guide's example of a loop.
An operator that is ``None`` or ``nl.add`` by a condition becomes two statements under it. Left: modes of DMA that
``dma_compute`` does not take.
"""

from __future__ import annotations

import ast

from ...syntax.call_text import CallText
from ...syntax.drafts import Edit
from ...syntax.nodes import is_none
from ..answers import Answer, Left, Rewritten, rewritten
from ..facts import Facts
from ..statements import is_own_statement

CODE = "NKV005"
GOLDENS = ("ladder_copies",)
NODES = (ast.Call,)
CALLS = frozenset({"nki.isa.dma_copy"})
_HELP = "write dma_copy and nisa.dma_compute(dst, srcs=[src, dst], reduce_op=nl.add) under the condition"


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Write the accumulation as ``dma_compute``, or take away what says nothing."""
    if facts.called(node) != "nki.isa.dma_copy":
        return None
    given, text = facts.arguments(node), facts.text_of(node)
    if text is None or not given.keys() & {"dst_rmw_op", "unique_indices"}:
        return None
    operator = given.get("dst_rmw_op")
    if operator is None or is_none(operator):
        arguments = [text.named(name) for name in ("dst_rmw_op", "unique_indices")]
        return rewritten(*_removed(text, [a.keyword for a in arguments if a is not None]))
    if isinstance(operator, ast.IfExp):
        return _in_two(facts, node, operator)
    if facts.qualified(operator) != "nki.language.add":
        return Left("whether this copy accumulates is not known", _HELP)
    call = _computed(facts, node, text, given)
    if isinstance(call, Left):
        return call
    return rewritten(Edit(facts.rung.start(node), facts.rung.end(node), call))


def _computed(facts: Facts, node: ast.Call, text: CallText, given: dict[str, ast.expr]) -> str | Left:
    """The call of ``dma_compute`` that does what an accumulating copy does."""
    compute = facts.spelled(node, "nki.isa.dma_compute")
    operator = facts.rung.segment(given["dst_rmw_op"])
    if compute is None or not {"dst", "src"} <= given.keys():
        return Left("this copy accumulates", _HELP)
    skips = given.get("oob_mode")
    if skips is not None and facts.qualified(skips) != "nki.isa.oob_mode.error":
        return Left(
            "dma_compute of NKI 0.3 has no oob_mode", "keep the indices in the tensor, or write for 0.4 by hand"
        )
    if "#" in facts.rung.segment(node):
        return Left("a comment stands in a copy that accumulates", "move the comment, then rewrite again")
    dst, src = facts.rung.segment(given["dst"]), facts.rung.segment(given["src"])
    rest = [name for name in ("unique_indices", "name") if name in given]
    more = "".join(f", {name}={facts.rung.segment(given[name])}" for name in rest)
    return f"{compute}(dst={dst}, srcs=[{src}, {dst}], reduce_op={operator}{more})"


def _in_two(facts: Facts, node: ast.Call, operator: ast.IfExp) -> Answer:
    """``None if condition else nl.add``: a copy and an accumulation under the condition."""
    statement, text = is_own_statement(facts.rung, node), facts.text_of(node)
    copies_first = is_none(operator.body)
    added = operator.orelse if copies_first else operator.body
    if statement is None or text is None or facts.qualified(added) != "nki.language.add":
        return Left("whether this copy accumulates is not known", _HELP)
    if not copies_first and not is_none(operator.orelse):
        return Left("whether this copy accumulates is not known", _HELP)
    given = facts.arguments(node) | {"dst_rmw_op": added}
    compute = _computed(facts, node, text, given)
    if isinstance(compute, Left):
        return compute
    copy = facts.rung.segment(node)
    for edit in sorted(_removed(text, ["dst_rmw_op", "unique_indices"]), reverse=True):
        start = facts.rung.start(node)
        copy = copy[: edit.start - start] + edit.text + copy[edit.end - start :]
    start = facts.rung.start(statement)
    margin = facts.rung.text[facts.rung.text.rfind("\n", 0, start) + 1 : start]
    copy, compute = (text.replace("\n", "\n    ") for text in (copy, compute))
    test = facts.rung.segment(operator.test)
    first, second = (copy, compute) if copies_first else (compute, copy)
    lines = f"if {test}:\n{margin}    {first}\n{margin}else:\n{margin}    {second}"
    return Rewritten((Edit(start, facts.rung.end(statement), lines),))


def _removed(text: CallText, keywords: list[str]) -> list[Edit]:
    found = []
    for keyword in keywords:
        argument = text.named(keyword)
        edit = text.removed(argument) if argument is not None else None
        found += [edit] if edit is not None else []
    return found
