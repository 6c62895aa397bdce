"""NKV004 hardware-dge-types: ``dma_copy`` between two types does not ask for ``dge_mode.hwdge``.

Why: the hardware's descriptors move raw bytes. 0.2 let two types pass, 0.3 refuses them.

Review: ``swdge`` converts. Who wanted the bytes as they are views one side as the type of the other, ``.view()``.
"""

from __future__ import annotations

import ast

from ..answers import Answer, Left, Said, rewritten, unknown
from ..facts import Facts
from ..statements import root_name

CODE = "NKV004"
APPLICABILITY = "review"
GOLDENS = ("ladder_dma",)
NODES = (ast.Call,)
CALLS = frozenset({"nki.isa.dma_copy"})


_HARDWARE = "nki.isa.dge_mode.hwdge"


def _may_be_hardware(facts: Facts, mode: ast.expr) -> bool:
    """May the mode be the hardware's? Numbers become members first (NKV015)."""
    name = facts.qualified(mode)
    return name == _HARDWARE or not (name.startswith("nki.isa.dge_mode.") or isinstance(mode, ast.Constant))


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Ask for ``swdge`` where the types are known to differ."""
    if facts.called(node) != "nki.isa.dma_copy":
        return None
    given = facts.arguments(node)
    mode = given.get("dge_mode")
    if mode is None or not {"dst", "src"} <= given.keys() or not _may_be_hardware(facts, mode):
        return None
    spelled = facts.type_of(given["dst"]), facts.type_of(given["src"])
    if all(spelled) and spelled[0] == spelled[1]:
        return None
    types = facts.tensor(given["dst"]).dtype, facts.tensor(given["src"]).dtype
    if not all(types) or facts.qualified(mode) != _HARDWARE:
        names = [root_name(given[key]) for key in ("dst", "src")]
        mode_or = ", or the mode is not dge_mode.hwdge" if facts.qualified(mode) != _HARDWARE else ""
        said = Said(
            (f"'{names[0]}' and '{names[1]}'",), "{} have one type" + mode_or, "{} have one type each" + mode_or
        )
        return unknown(said, "hwdge of NKI 0.3 refuses two types", "ask for another mode, or view one side")
    what = f"hwdge does not convert {types[1]} to {types[0]}"
    text, other = facts.text_of(node), facts.spelled(mode, "nki.isa.dge_mode.swdge")
    if text is None or other is None:
        return Left(what, "ask for another mode, or view one side as the type of the other")
    argument = next(item for item in text.arguments if item.value is mode)
    return rewritten(
        text.value_replaced(argument, other),
        assumption=f"{types[1]} is to be converted to {types[0]}, which hwdge does not do and swdge does",
    )
