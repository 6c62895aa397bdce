"""NKV048 two-dimensions: a part of a tile with one dimension, which has two since 0.5, is reported.

Why: up to 0.4 ``t[:, i]`` of ``(128, 64)`` had the shape ``(128,)``. Since 0.5 a tensor on chip keeps two dimensions:
that is ``(128, 1)``. Tensors in HBM drop the dimension in both.

Review: an operand of an instruction is the same elements in both, and stays, also by a name. Elsewhere it takes it that
nothing asks the part for its rank or shape. Left: a part that is asked for its shape.
"""

from __future__ import annotations

import ast

from ..answers import Answer, Different, Left, Said, unknown
from ..facts import Facts
from ..objects import is_other
from ..parts import is_an_operand_by_its_name, is_asked_for_its_shape, makes_a_tile
from ..tensors import UNKNOWN, Items, Tensor

CODE = "NKV048"
APPLICABILITY = "review"
GOLDENS = ("ladder_columns",)
NODES = (ast.Subscript,)
_HELP = "write the slice of one, t[:, i : i + 1], and take its dimension into account"


def rewrite(facts: Facts, node: ast.Subscript) -> Answer:
    """Look for parts that lose all dimensions but the partitions."""
    if not isinstance(node.ctx, ast.Load) or not makes_a_tile(facts, node) or not _leaves_partitions(facts, node):
        return None
    value = facts.tensors.of(facts.path, node.value)
    if isinstance(value, Items) or (isinstance(value, Tensor) and value.is_in_hbm) or is_other(facts, node.value):
        return None
    return _said(facts, node, value if isinstance(value, Tensor) else UNKNOWN)


def _said(facts: Facts, node: ast.Subscript, tensor: Tensor) -> Answer:
    """What is said of a part of a tensor that may be on chip."""
    index = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if tensor.rank is not None and tensor.rank > len(index):
        return None  # dimensions behind the index stay
    why = f"from NKI {facts.new} on a tensor on chip has two dimensions at least"
    is_asked = is_asked_for_its_shape(facts, node)
    if not tensor.is_on_chip or tensor.rank is None:
        names = (f"'{ast.unparse(node.value)}'",)
        said = Said(names, "{} is in HBM, or has more dimensions", "{} are in HBM, or have more dimensions")
        return unknown(said, why, _HELP) if is_asked else None
    if is_asked:
        return Left("the shape of this part of a tile, which is asked for, has two dimensions now", _HELP, True)
    if facts.is_migrated or is_an_operand_by_its_name(facts, node):
        return None
    return Different("nothing asks this part of a tile for its rank or shape", why, _HELP)


def _leaves_partitions(facts: Facts, node: ast.Subscript) -> bool:
    """Does an index have a slice for the partitions, and integers alone behind it?"""
    if not isinstance(node.slice, ast.Tuple) or len(node.slice.elts) < 2:
        return False
    first, *rest = (facts.tensors.index_kind(facts.path, facts.rung, part) for part in node.slice.elts)
    return first != "integer" and all(kind == "integer" for kind in rest)
