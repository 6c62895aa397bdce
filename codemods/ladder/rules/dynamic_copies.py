"""NKV031 dynamic-copies: ``tensor_copy_dynamic_src`` and ``_dst`` become ``tensor_copy``.

Why: 0.4 has neither (0.3 deprecated them).

Safe where the dynamic side is an access pattern with ``scalar_offset``, as ``tensor_copy`` takes it. Left: an index
that is a register or a tile in a subscript.
"""

from __future__ import annotations

import ast

from ..answers import Answer, Left, rewritten
from ..facts import Facts

CODE = "NKV031"
GOLDENS = ("ladder_registers",)
NODES = (ast.Call,)
_CALLS = {"nki.isa.tensor_copy_dynamic_src": "src", "nki.isa.tensor_copy_dynamic_dst": "dst"}


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Call ``tensor_copy``."""
    side = _CALLS.get(facts.called(node))
    if side is None:
        return None
    value = dict(zip(("dst", "src"), node.args, strict=False)).get(side)
    value = next((keyword.value for keyword in node.keywords if keyword.arg == side), value)
    is_pattern = isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "ap"
    copy = facts.spelled(node, "nki.isa.tensor_copy")
    if not is_pattern or copy is None:
        return Left("dynamic copies are gone", f"use nisa.tensor_copy with {side}=t.ap(pattern, scalar_offset=)")
    return rewritten(facts.rung.replace(node.func, copy))
