"""NKV043 exact-copies: ``nl.copy`` of large integers, and of a tile in PSUM, is reported.

Why: up to 0.5 the copy went through float32, which has no integers beyond 2^24, and lay in the memory of its source;
since 0.6 it moves the bits, and lies in SBUF.

Review: whoever relied on the rounding must round, and whoever multiplied into the copy must declare a tile in PSUM.
``--unsafe`` takes it that the exact copy, in SBUF, is wanted. All else is the same in both versions.
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
_UNSAFE = "--unsafe takes it so"
_LARGE = frozenset({"int32", "uint32"})


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Report copies of what may be beyond 2^24."""
    if facts.called(node) not in CALLS:
        return None
    source = next((k.value for k in node.keywords if k.arg in ("x", "src")), node.args[0] if node.args else None)
    if source is None:
        return None
    tensor, name = facts.tensor(source), ast.unparse(source)
    if tensor.buffer == "psum":
        why = f"nl.copy gives a tile in SBUF from NKI {facts.new} on, and gave one in the memory of its source before"
        return Different(f"the copy of '{name}' may be in SBUF", why, _UNSAFE)
    why = f"nl.copy is exact from NKI {facts.new} on, and went through float32 before"
    if not tensor.dtype:
        return Unknown(
            f"'{name}' has no integers beyond 2^24", why, "ask nisa.tensor_copy, which is exact in all versions"
        )
    return Different("exact integers are wanted", why, _UNSAFE) if tensor.dtype in _LARGE else None
