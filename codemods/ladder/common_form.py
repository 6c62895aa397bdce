"""One source for several versions of NKI: where they read it otherwise, although each of them takes it.

What one of them refuses is found by the legality check. Here are the calls whose positional arguments bind to other
parameters, and the constructs that a change of the range gave another meaning: the rule of that change, asked about
the text as if it might be of either side, has something to say of it. A rule whose answers are about old forms alone
has a second question, ``parts(facts, node)``: is this a form of the later version that the one before reads otherwise?
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from nki_migrate.runtime.spec import beta2
from nki_migrate.runtime.spec.beta2_symbols import kept_positions
from nki_migrate.runtime.spec.change import Change
from nki_migrate.runtime.spec.changes import changes
from nki_migrate.runtime.spec.versions import VERSIONS, Version, version

from ..model import Finding, Options
from .answers import Different, Left, Rewritten, Unknown
from .asking import facts_of, nodes_for
from .evidence import Source
from .facts import Facts
from .program import program_of
from .registry import rules_at
from .unseen import unseen

_Parted = Finding | Unknown
_Told = Rewritten | Left | Unknown | Different
_POSITIONS = "NKV027"
"""The rule of all positions that have none of their own."""
_ALONE = "write it so that both read it alike, or write for one side alone"


def partings(texts: Mapping[str, str], options: Options) -> Iterator[tuple[str, ast.AST, _Parted]]:
    """For each file: a node of its text, and the finding on it, or what is taken for true of it.

    Lines are those of the texts. ``options`` have the range: from ``oldest`` to ``target``.
    """
    oldest, newest = version(options.oldest), version(options.target)
    program = program_of(texts, options)
    either = dict.fromkeys(texts, Source(oldest, newest))
    for item in VERSIONS[oldest.position + 1 : newest.position + 1]:
        for path, facts in facts_of(program, either, item).items():
            if facts.rung.is_nki:
                yield from ((path, node, parted) for node, parted in _parted(facts, item, options))


def _parted(facts: Facts, item: Version, options: Options) -> Iterator[tuple[ast.AST, _Parted]]:
    for module, kind in rules_at(item):
        parts = getattr(module, "parts", module.rewrite if kind == "differs" else None)
        rows = [row for row in changes(facts.old, item) if row.rule == module.CODE]
        if options.enabled(module.CODE) and (parts is not None or any(row.moved for row in rows)):
            for node in nodes_for(facts, module):
                hidden = unseen(facts, module, node)
                answer = hidden or (parts(facts, node) if parts is not None else None)
                if answer is not None:
                    yield node, _parting(facts, node, rows[0], answer, hidden is not None)
    yield from _bound_otherwise(facts, item)


def _parting(facts: Facts, node: ast.AST, row: Change, answer: _Told, is_hidden: bool) -> _Parted:
    """What the answer of a rule says of two versions, and of a call that cannot be read (``is_hidden``)."""
    if isinstance(answer, Unknown) and (answer.is_note or not is_hidden):
        return answer
    versions = f"NKI {facts.old} and {facts.new}"
    if isinstance(answer, Unknown):
        return _finding(node, row.rule or "", f"{versions} may not read this alike: {answer.why}", answer.help)
    told, help = (answer.message, answer.help) if isinstance(answer, Left) else (row.what, _ALONE)
    return _finding(node, row.rule or "", f"{versions} do not read this alike: {told}", help)


def _bound_otherwise(facts: Facts, item: Version) -> Iterator[tuple[ast.AST, Finding]]:
    """The calls whose positional arguments are other parameters."""
    for call in (node for node in facts.rung.all_calls if facts.in_kernel_code(node)):
        moved = _moved(facts, call, item)
        rule = next((row.rule for row in changes(facts.old, item) if facts.called(call) in row.moved), None)
        code = rule or _POSITIONS
        if moved:
            message = f"NKI {facts.old} and {item} bind this otherwise: {moved}"
            yield call, _finding(call, code, message, "pass it by its keyword")


def _moved(facts: Facts, call: ast.Call, item: Version) -> str:
    """Which positional argument binds to two parameters; empty where none does."""
    name = facts.called(call)
    old, new = (beta2.symbol(name, at) for at in (facts.old, item))
    if not name or old is None or new is None or len(call.args) <= (at := kept_positions(old, new)):
        return ""
    one, two = ((entry.parameters or ())[at : at + 1] for entry in (old, new))
    return f"argument {at + 1} is '{one[0].name}', then '{two[0].name}'" if one and two else ""


def _finding(node: ast.AST, code: str, message: str, help: str) -> Finding:
    line, column = node.lineno, node.col_offset + 1  # type: ignore[attr-defined]  # rules ask of nodes with places
    return Finding(line, column, code, "manual", message, help)
