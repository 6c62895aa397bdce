"""NKV029 removed-names: ``nl.par_dim``, ``nki.tensor`` and the bare names of memories are written as 0.3 has them.

Why: 0.3 has neither ``par_dim`` (0.2: its argument), nor ``nki.tensor`` (``nki.meta.tensor``), nor ``sbuf``, ``psum``
and ``hbm`` without an import.

Safe: these were other names of the same. Left alone: ``par_dim`` behind another size (``(4, nl.par_dim(128), 512)``),
for that was one of blocks in Beta 1, and one of partitions in 0.2.
"""

from __future__ import annotations

import ast

from ...syntax.drafts import Edit
from ...syntax.name_scopes import OTHER
from ..answers import Answer, Left, rewritten
from ..beta1_forms import is_behind_blocks
from ..facts import Facts

CODE = "NKV029"
GOLDENS = ("ladder_literals",)
NODES = (ast.Call, ast.Name, ast.ImportFrom, ast.Import)
HOST = True
_MEMORIES = ("sbuf", "psum", "hbm")


def rewrite(facts: Facts, node: ast.Call | ast.Name | ast.ImportFrom | ast.Import) -> Answer:
    """Write what 0.3 has."""
    if isinstance(node, ast.Call):
        return _call(facts, node)
    if isinstance(node, ast.Name):
        return _memory(facts, node)
    return _import(facts, node)


def _call(facts: Facts, node: ast.Call) -> Answer:
    name = facts.called(node)
    if name == "nki.language.unique_name":
        return Left("nl.unique_name is gone", "write a name")
    if name != "nki.language.par_dim":
        return None
    if is_behind_blocks(facts.rung, node):
        if facts.is_migrated:
            return None  # of a statement of Beta 1, whose finding says more
        message = (
            "nl.par_dim is gone, and 0.2 took the size in front of it for that of partitions, Beta 1 for that of blocks"
        )
        return Left(message, "make a list of tiles, or put the size of partitions first")
    text = facts.text_of(node) if len(node.args) == 1 and not node.keywords else None
    inner = text.arguments[0] if text is not None else None
    if text is None or inner is None or "#" in facts.rung.segment(node):
        return Left("nl.par_dim is gone", "write its argument")
    plain = isinstance(node.args[0], (ast.Name, ast.Constant, ast.Attribute, ast.Call, ast.Subscript))
    value = text.text(inner) if plain or not _is_operand(facts, node) else f"({text.text(inner)})"
    return rewritten(Edit(facts.rung.start(node), facts.rung.end(node), value))


def _is_operand(facts: Facts, node: ast.Call) -> bool:
    return isinstance(facts.rung.parents.get(node), (ast.BinOp, ast.UnaryOp, ast.Attribute, ast.Subscript))


def _memory(facts: Facts, node: ast.Name) -> Answer:
    """A bare ``sbuf`` that nothing binds."""
    if node.id not in _MEMORIES or not isinstance(node.ctx, ast.Load) or not facts.in_kernel_code(node):
        return None
    scope = facts.rung.names[node]
    if scope.of(node.id) != {OTHER} or isinstance(facts.rung.parents.get(node), ast.Attribute):
        return None
    while scope is not None:
        if node.id in scope.bound:
            return None
        scope = scope.outer  # type: ignore[assignment]  # the outermost has none
    name = facts.spelled(node, f"nki.language.{node.id}")
    if name is None:
        return Left(f"'{node.id}' is no name of NKI 0.3", f"import nki.language as nl, and write nl.{node.id}")
    return rewritten(facts.rung.replace(node, name))


def _import(facts: Facts, node: ast.ImportFrom | ast.Import) -> Answer:
    """``nki.tensor`` is ``nki.meta.tensor``."""
    rung = facts.rung
    if isinstance(node, ast.ImportFrom):
        if node.module == "nki.tensor" and not node.level:
            start = rung.text.index("nki.tensor", rung.start(node))
            return rewritten(Edit(start, start + len("nki.tensor"), "nki.meta.tensor"))
        return None
    edits: list[Edit | None] = []
    for alias in node.names:
        if alias.name == "nki.tensor":
            if alias.asname is None:
                return Left("nki.tensor is nki.meta.tensor", "import it by a name: import nki.meta.tensor as ntensor")
            start = rung.start(alias)
            edits.append(Edit(start, start + len("nki.tensor"), "nki.meta.tensor"))
    return rewritten(*edits) if edits else None
