"""NKV043 exact-copies: ``nl.copy`` of large integers is reported, which was not exact before 0.6.

Why: up to 0.5 the copy went through float32, which has no integers beyond 2^24; since 0.6 it moves the bits.

Review: whoever relied on the rounding must round. ``--unsafe`` takes it that the exact copy is wanted. A tile of
another type is the same in both versions.
"""

from __future__ import annotations

import ast

from ..answers import Answer, Different, Unknown
from ..facts import Facts

CODE = "NKV043"
APPLICABILITY = "review"
GOLDENS = ("ladder_exact",)
NODES = (ast.Call,)
CALLS = frozenset({"nki.language.copy"})
_LARGE = frozenset({"int32", "uint32"})


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Report copies of what may be beyond 2^24."""
    if facts.called(node) not in CALLS:
        return None
    source = next((k.value for k in node.keywords if k.arg in ("x", "src")), node.args[0] if node.args else None)
    dtype = facts.tensor(source).dtype if source is not None else ""
    why = f"nl.copy is exact from NKI {facts.new} on, and went through float32 before"
    if not dtype:
        name = ast.unparse(source) if source is not None else "x"
        return Unknown(
            f"'{name}' has no integers beyond 2^24", why, "ask nisa.tensor_copy, which is exact in all versions"
        )
    if dtype not in _LARGE:
        return None
    return Different("exact integers are wanted", why, "--unsafe takes it so")
