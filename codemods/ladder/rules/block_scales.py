"""NKV042 block-scales: ``quantize_mx`` is reported, whose block scale is twice as large since 0.5.

Why: 0.5 rounds where 0.4 clamped: the largest values of a group come out otherwise, and so do the scales.

Review: no call gives the old scale. ``--unsafe`` takes it that the new one is wanted, and says so in a note; ``verify``
names the difference as one of NKI itself.
"""

from __future__ import annotations

import ast

from ..answers import Answer, Different
from ..facts import Facts

CODE = "NKV042"
APPLICABILITY = "review"
GOLDENS = ("ladder_scales",)
NODES = (ast.Call,)
CALLS = frozenset({"nki.isa.quantize_mx"})


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Report each quantization."""
    if facts.called(node) not in CALLS:
        return None
    why = f"quantize_mx of NKI {facts.new} has a block scale twice as large, and no call gives the old one"
    return Different("other scales and other rounding are wanted", why, "--unsafe takes it so")
