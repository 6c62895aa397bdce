"""NKV021 range-select: ``range_select`` says what 0.2 did: it resets, reduces, and fills with the fp32 minimum.

Why: 0.2 ignored ``reduce_cmd`` and ``on_false_value``; 0.3 obeys the one, and wants the fp32 minimum for the other.

Safe: ``reduce_cmd`` is written as what was done, and ``on_false_value`` goes, whose default is the minimum.
"""

from __future__ import annotations

import ast

from ...syntax.drafts import Edit
from ..answers import Answer, Left, rewritten
from ..facts import Facts

CODE = "NKV021"
GOLDENS = ("ladder_defaults",)
NODES = (ast.Call,)
CALLS = frozenset({"nki.isa.range_select"})
_MINIMUM = ("-3.4028235e+38", "-3.4028235e38", "-3.4028234663852886e+38")


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Write the command that 0.2 took, and leave the fill to its default."""
    text = facts.text_of(node) if facts.called(node) == "nki.isa.range_select" else None
    if text is None:
        return None
    edits: list[Edit | None] = []
    given = facts.arguments(node)
    command = next((item for item in text.arguments if item.value is given.get("reduce_cmd")), None)
    if command is not None and facts.qualified(command.value) != "nki.isa.reduce_cmd.reset_reduce":
        wanted = facts.spelled(node, "nki.isa.reduce_cmd.reset_reduce")
        if wanted is None:
            return Left("0.2 reset and reduced, whatever reduce_cmd said", "write reduce_cmd.reset_reduce", True)
        edits.append(text.value_replaced(command, wanted))
    filled = next((item for item in text.arguments if item.value is given.get("on_false_value")), None)
    if filled is not None and ast.unparse(filled.value) not in _MINIMUM:
        edits.append(text.removed(filled) if filled.keyword else text.value_replaced(filled, _MINIMUM[1]))
    return rewritten(*edits) if edits else None
