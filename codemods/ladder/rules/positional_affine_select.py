"""NKV010 positional-affine-select: what stands behind ``pattern`` of ``affine_select`` gets its name.

Why: ``offset`` was the third argument, and is the last one since 0.3.

Safe: keywords bind the same in every version. A call whose sixth argument is an operator, that has no room for an
offset by position, or that names it, is of 0.3 already.
"""

from __future__ import annotations

import ast

from ..answers import Answer, Unknown, rewritten
from ..facts import Facts

CODE = "NKV010"
GOLDENS = ("ladder_positions",)
NODES = (ast.Call,)
CALLS = frozenset({"nki.isa.affine_select"})
_NAMES = ("offset", "channel_multiplier", "on_true_tile", "on_false_value", "cmp_op")


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Name the arguments."""
    text = facts.text_of(node) if facts.called(node) == "nki.isa.affine_select" else None
    if text is None or not 2 < len(node.args) <= 7 or text.named("offset") is not None:
        return None
    given = {*_NAMES[: len(node.args) - 2], *(argument.keyword for argument in text.arguments)}
    by_position = len(node.args) > 5 and facts.qualified(node.args[5]).startswith("nki.language.")
    if not {"channel_multiplier", "on_true_tile", "on_false_value"} <= given or by_position:
        return None
    if not facts.is_certain and len(node.args) > 5:
        third = f"'{ast.unparse(node.args[2])}' is the multiplier of affine_select"
        return Unknown(
            third, "NKI 0.2 took the offset there, later versions the multiplier", "name the arguments", True
        )
    arguments = text.arguments[2 : len(node.args)]
    return rewritten(*(text.renamed(item, name) for item, name in zip(arguments, _NAMES, strict=False)))
