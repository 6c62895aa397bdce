"""NKV026 partition-indices: an integer index of the partitions that makes a tile of its own becomes a slice of one.

Why: 0.2 dropped the dimension, ``t[i]`` of ``(128, 64)`` had the shape ``(64,)``; since 0.3 a tile keeps its
partitions, and has the shape ``(1, 64)``. Tensors in HBM drop the dimension in both.

Review: it takes it that nothing asks the part for its rank or shape. An operand of an instruction is the same elements
in both, and stays. Left: a part that is asked for its shape, and a tensor whose memory is not known; a note says where
nothing shows a tensor at all.
"""

from __future__ import annotations

import ast

from ...syntax.drafts import Edit
from ..answers import Answer, Left, Said, Unknown, rewritten, unknown
from ..facts import Facts
from ..objects import is_other
from ..parts import is_asked_for_its_shape, makes_a_tile
from ..tensors import Items, Tensor

CODE = "NKV026"
APPLICABILITY = "review"
GOLDENS = ("ladder_views",)
NODES = (ast.Subscript,)
_HELP = "write the slice of one partition, t[i : i + 1], and take its dimension into account"


def rewrite(facts: Facts, node: ast.Subscript) -> Answer:
    """Write the slice."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if not parts or not isinstance(node.ctx, ast.Load) or not makes_a_tile(facts, node):
        return None
    first = parts[0]
    kind = facts.tensors.index_kind(facts.path, facts.rung, first)
    value = facts.tensors.of(facts.path, node.value)
    if kind == "slice" or isinstance(value, Items) or (isinstance(value, Tensor) and value.is_in_hbm):
        return None
    if isinstance(first, ast.Constant) and not isinstance(first.value, int):
        return None  # a key, or an ellipsis
    if not isinstance(value, Tensor) or (facts.is_migrated and not (kind and value.is_on_chip)):
        # The rules from Beta 1 say themselves which tiles of an operation they do not know; a shape is no operation.
        return _asked(facts, node)
    if not kind or not value.is_on_chip:
        return _unknown(facts, node, value, first)
    return _written(facts, node, first)


def _written(facts: Facts, node: ast.Subscript, first: ast.expr) -> Answer:
    """The slice of one partition, where nothing asks the part for its shape."""
    if is_asked_for_its_shape(facts, node):
        what = "the shape of this part of a tile, which is asked for, has one dimension more now"
        return Left(what, _HELP, True)
    text = facts.rung.segment(first)
    part = f"{text} : {text} + 1" if isinstance(first, (ast.Name, ast.Attribute)) else f"{text} : ({text}) + 1"
    if isinstance(first, ast.Constant) and isinstance(first.value, int):
        part = f"{first.value}:{first.value + 1}"
    assumption = "nothing asks this part of a tile for its rank or shape, which has one dimension more now"
    return rewritten(Edit(*_in_brackets(facts, first), part), assumption=assumption)


def _in_brackets(facts: Facts, index: ast.expr) -> tuple[int, int]:
    """Where an index begins and ends, with the brackets around it alone: ``t[(i : i + 1)]`` is no Python."""
    text, start, end = facts.rung.text, facts.rung.start(index), facts.rung.end(index)
    while text[:start].rstrip().endswith("(") and text[end:].lstrip().startswith(")"):
        start, end = text[:start].rstrip().rindex("("), text.index(")", end) + 1
    return start, end


def _asked(facts: Facts, node: ast.Subscript) -> Unknown | None:
    """What is taken for true where only the shape is asked for of a part of what may be a tile."""
    if is_other(facts, node.value) or not is_asked_for_its_shape(facts, node):
        return None
    is_note = facts.is_migrated or not _is_used_as_tensor(facts, node.value)
    return unknown(_in_hbm(node.value), _why(facts), _HELP, is_note=is_note)


def _in_hbm(node: ast.expr) -> Said:
    return Said((f"'{ast.unparse(node)}'",), "{} is in HBM, or a list", "{} are in HBM, or lists")


def _why(facts: Facts) -> str:
    return f"from NKI {facts.new} on an integer keeps the partition of a tile"


def _unknown(facts: Facts, node: ast.Subscript, value: Tensor, index: ast.expr) -> Unknown:
    """What is taken for true of a tensor whose memory, or of an index whose kind, is not known."""
    said = _in_hbm(node.value)
    if value.is_on_chip:
        said = Said((f"'{ast.unparse(index)}'",), "{} is a slice", "{} are slices")
    is_tensor = bool(value.calls or value.rank) or _is_used_as_tensor(facts, node.value)
    return unknown(said, _why(facts), _HELP, is_note=not is_tensor)


def _is_used_as_tensor(facts: Facts, node: ast.expr) -> bool:
    """Does the function use a value as only tensors are used: as an operand, by two indices, or for its type?"""
    if not isinstance(node, ast.Name):
        return False
    for use in facts.rung.uses(node):
        above = facts.rung.parents.get(use)
        call = facts.rung.parents.get(above) if isinstance(above, ast.keyword) else above
        index = above.slice if isinstance(above, ast.Subscript) and above.value is use else None
        if isinstance(call, ast.Call) and facts.called(call).startswith("nki.isa."):
            return True
        if isinstance(above, ast.Attribute) and above.attr in ("shape", "dtype", "ap", "reshape", "view"):
            return True
        if isinstance(index, ast.Tuple):
            return True
    return False
