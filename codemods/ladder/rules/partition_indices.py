"""NKV026 partition-indices: an integer index of the partitions that makes a tile of its own becomes a slice of one.

Why: 0.2 dropped the dimension, ``t[i]`` of ``(128, 64)`` had the shape ``(64,)``; since 0.3 a tile keeps its
partitions, and has the shape ``(1, 64)``. Tensors in HBM drop the dimension in both.

Review: it takes it that nothing asks the part for its rank or shape. An operand of an instruction is the same elements
in both, and stays. Left: a tensor whose memory is not known.
"""

from __future__ import annotations

import ast

from ...drafts import Edit
from ..answers import Answer, Left, rewritten
from ..facts import Facts
from ..tensors import Tensor

CODE = "NKV026"
APPLICABILITY = "review"
GOLDENS = ("ladder_views",)
NODES = (ast.Subscript,)
_HELP = "write the slice of one partition, t[i : i + 1], and take its dimension into account"


def rewrite(facts: Facts, node: ast.Subscript) -> Answer:
    """Write the slice."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if not parts or not isinstance(node.ctx, ast.Load) or not _makes_a_tile(facts, node):
        return None
    if facts.tensors.index_kind(facts.path, facts.rung, parts[0]) != "integer":
        return None
    value = facts.tensors.of(facts.path, node.value)
    if not isinstance(value, Tensor) or value.is_in_hbm or not (value.is_on_chip or value.calls):
        return None
    if not value.is_on_chip:
        return Left(
            "whether this part keeps its partition depends on the tensor's memory, which is not known", _HELP, True
        )
    first = parts[0]
    text = facts.rung.segment(first)
    part = f"{text} : {text} + 1" if isinstance(first, (ast.Name, ast.Attribute)) else f"{text} : ({text}) + 1"
    if isinstance(first, ast.Constant) and isinstance(first.value, int):
        part = f"{first.value}:{first.value + 1}"
    assumption = "nothing asks this part of a tile for its rank or shape, which has one dimension more now"
    return rewritten(Edit(facts.rung.start(first), facts.rung.end(first), part), assumption=assumption)


def _makes_a_tile(facts: Facts, node: ast.Subscript) -> bool:
    """Is a part of a tensor more than an operand of an instruction?"""
    above = facts.rung.parents.get(node)
    if isinstance(above, ast.keyword):
        above = facts.rung.parents.get(above)
    if isinstance(above, ast.Call):
        return not facts.called(above).startswith(("nki.isa.", "nki.collectives."))
    if isinstance(above, (ast.List, ast.Tuple)):
        return not isinstance(facts.rung.parents.get(above), (ast.Subscript, ast.keyword, ast.Call))
    return isinstance(above, (ast.Assign, ast.Attribute, ast.Return, ast.Subscript))
