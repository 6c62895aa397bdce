"""NKV022 copy-types: ``dtype`` of ``tensor_copy`` and ``nc_n_gather`` goes: the destination says it.

Why: 0.2 took the parameter, which is not documented; 0.3 does not.

Safe where the destination or the source is known to have the type: then it says nothing. Review where nothing tells it:
with a wider destination 0.2 rounded to the type on the way. Left: a destination that is known to have another type.
"""

from __future__ import annotations

import ast

from ..answers import Answer, Left, rewritten
from ..facts import Facts

CODE = "NKV022"
GOLDENS = ("ladder_copies",)
NODES = (ast.Call,)
CALLS = frozenset(f"nki.isa.{name}" for name in ("tensor_copy", "nc_n_gather", "sequence_bounds"))


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Take the parameter away."""
    text = facts.text_of(node) if facts.called(node) in CALLS else None
    typed = facts.arguments(node).get("dtype") if text is not None else None
    given = next((item for item in text.arguments if item.value is typed), None) if text is not None else None
    if text is None or given is None or not given.keyword:
        return None  # NKV027 names what stands behind the mask
    named = facts.qualified(given.value)
    name = named.removeprefix("nki.language.")
    arguments = facts.arguments(node)
    operands = [facts.type_of(arguments[key]) for key in ("dst", "src", "data") if key in arguments]
    spelled = text.text(given)
    is_said = any(operand in ({name, spelled} - {""}) for operand in operands)
    known = facts.tensor(arguments["dst"]).dtype if "dst" in arguments else ""
    if known and named and not is_said:
        return Left(f"this rounds to {spelled}, and the destination is {known}", f"copy into a tile of {spelled} first")
    assumption = "" if is_said else f"the destination has the type {spelled}"
    return rewritten(text.removed(given), assumption=assumption)
