"""NKV030 transposed-ranks: ``dst`` of ``dma_transpose`` gets the rank of ``src``.

Why: up to 0.3 a ``dst`` of fewer dimensions was filled up with ones, since 0.4 its shape is the transposed one.

Review: it takes it that the dimensions that are added stand in the middle. Left: all other ranks that differ.
"""

from __future__ import annotations

import ast

from ...syntax.drafts import Edit
from ..answers import Answer, Left, Unknown, rewritten
from ..facts import Facts
from ..statements import root_name

CODE = "NKV030"
APPLICABILITY = "review"
GOLDENS = ("ladder_transposed",)
NODES = (ast.Call,)
CALLS = frozenset({"nki.isa.dma_transpose"})


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Reshape the destination."""
    given = facts.arguments(node) if facts.called(node) == "nki.isa.dma_transpose" else {}
    if not {"dst", "src"} <= given.keys():
        return None
    dst, src = facts.tensor(given["dst"]), facts.tensor(given["src"])
    if dst.rank is None or src.rank is None:
        names = [root_name(given[key]) for key in ("dst", "src")]
        why = f"dma_transpose of NKI {facts.new} adds no dimensions to dst"
        help = "give dst the transposed shape of src"
        return Unknown(f"'{names[0]}' has as many dimensions as '{names[1]}'", why, help)
    if dst.rank >= src.rank:
        return None
    left = Left(f"dst has {dst.rank} dimensions, src has {src.rank}", "give dst the transposed shape of src")
    if not dst.whole or dst.shape is None or dst.rank != 2 or src.rank > 4:
        return left
    shape = ", ".join([dst.shape[0], *["1"] * (src.rank - 2), dst.shape[1]])
    end = facts.rung.end(given["dst"])
    assumption = f"the transposed shape of src is ({shape})"
    return rewritten(Edit(end, end, f".reshape(({shape}))"), assumption=assumption)
