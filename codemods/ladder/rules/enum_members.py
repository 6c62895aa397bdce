"""NKV015 enum-members: numbers become members of the enumerations of ``nki.isa``.

Why: 0.2 took ``dge_mode=2``, 0.3 wants ``dge_mode=nisa.dge_mode.hwdge``.

Safe: the member has that number.
"""

from __future__ import annotations

import ast

from nki_migrate.runtime.spec.beta2_isa import ENUM_MEMBERS

from ...drafts import Edit
from ..answers import Answer, Left, rewritten
from ..facts import Facts

CODE = "NKV015"
GOLDENS = ("ladder_literals",)
NODES = (ast.Call, ast.Compare)
_PARAMETERS = ("dge_mode", "engine", "oob_mode", "reduce_cmd")


def rewrite(facts: Facts, node: ast.Call | ast.Compare) -> Answer:
    """Write the members that numbers of arguments, and of a comparison with the chip's version, mean."""
    pairs = _compared(facts, node) if isinstance(node, ast.Compare) else _given(facts, node)
    edits, unknown = [], []
    for name, value in pairs:
        if not isinstance(value, ast.Constant) or type(value.value) is not int:
            continue
        member = next((key for key, number in ENUM_MEMBERS[name].items() if number == value.value), None)
        enum = facts.spelled(node, f"nki.isa.{name}")
        if member is None or enum is None:
            unknown.append(name)
        else:
            edits.append(Edit(facts.rung.start(value), facts.rung.end(value), f"{enum}.{member}"))
    if unknown:
        return Left(f"a number stands for a member of nisa.{unknown[0]}", f"write the member: nisa.{unknown[0]}....")
    return rewritten(*edits) if edits else None


def _given(facts: Facts, node: ast.Call) -> list[tuple[str, ast.expr]]:
    given = facts.arguments(node) if facts.called(node).startswith("nki.isa.") else {}
    return [(name, given[name]) for name in _PARAMETERS if name in given]


def _compared(facts: Facts, node: ast.Compare) -> list[tuple[str, ast.expr]]:
    sides = [node.left, *node.comparators]
    if len(sides) != 2 or not any(facts.called(side) == "nki.isa.get_nc_version" for side in sides):
        return []
    return [("nc_version", side) for side in sides]
