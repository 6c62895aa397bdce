"""Indices against shapes, where the source tells both.

Source: ``toIndex'`` of ``KLR/Trace/Term.lean``; ``Shape`` of ``KLR/Core/Tensor.lean``. A slice may end at the end of a
dimension, and must start before it: there are no empty slices at the end, no clipping, and no negative numbers but in
slices.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..spec.versions import BETA2
from .model import RuleDoc, Violation, kernel
from .names import Function, Module
from .walk import Context, document, on, report

_TILE = "tile = nl.ndarray((128, 512), nl.float32, buffer=nl.sbuf)\n"
_MAKERS = ("nki.language.ndarray", "nki.language.zeros")
Shape = tuple[int | None, ...]

OUT_OF_RANGE = document(
    RuleDoc(
        "NKL098",
        "index-out-of-range",
        "index out of range of tensor dimension",
        "A slice starts inside of its dimension and ends at its end at the latest; nothing is clipped, and no slice is "
        "empty at the end. An integer index is not negative.",
        "Clamp the bounds with min, and skip the access when nothing is left.",
        bad=kernel(_TILE + "nisa.dma_copy(dst=y, src=tile[0:128, 256:1024])"),
        good=kernel(_TILE + "nisa.dma_copy(dst=y, src=tile[0:128, 256:512])"),
        span=BETA2,
    )
)
TOO_MANY_INDICES = document(
    RuleDoc(
        "NKL099",
        "too-many-indices",
        "too many indexes for shape",
        "A tensor has as many dimensions as its shape.",
        "Delete the surplus indices, or reshape first.",
        bad=kernel(_TILE + "nisa.dma_copy(dst=y, src=tile[0:128, 0:512, 0])"),
        good=kernel(_TILE + "nisa.dma_copy(dst=y, src=tile[0:128, 0:512])"),
    )
)
NUMBER_AS_SHAPE = document(
    RuleDoc(
        "NKL112",
        "number-as-shape",
        "expecting sequence ('list' or 'tuple'), got 'int'",
        "A shape is a tuple or a list of sizes. Python's brackets alone make no tuple: (128) is the number 128.",
        "Write a comma behind a single size: (128,).",
        bad=kernel("tile = nl.ndarray((128), nl.float32, buffer=nl.sbuf)"),
        good=kernel("tile = nl.ndarray((128,), nl.float32, buffer=nl.sbuf)"),
    )
)
NO_DIMENSIONS = document(
    RuleDoc(
        "NKL124",
        "shape-without-dimensions",
        "invalid shape",
        "A shape has one dimension at least: there are no tensors of a single element that has none.",
        "Declare (1,) in HBM, or (1, 1) on the chip.",
        bad=kernel("total = nl.ndarray((), nl.float32, buffer=nl.shared_hbm)"),
        good=kernel("total = nl.ndarray((1,), nl.float32, buffer=nl.shared_hbm)"),
        span=BETA2,
    )
)


def tensor_shapes(function: Function, module: Module) -> dict[str, Shape]:
    """Shapes of the local names that ``nl.ndarray`` or ``nl.zeros`` binds, once; ``None`` for a size that is not a
    number in the source."""
    nodes = module.own_nodes(function)
    stores = [node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)]
    local = module.local_names(function)
    found: dict[str, Shape] = {}
    for node in nodes:
        if not (isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.value, ast.Call)):
            continue
        target, call = node.targets[0], node.value
        given = [*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg == "shape")]
        is_made = module.qualified(call.func, local) in _MAKERS and len(given) == 1
        if not (is_made and isinstance(target, ast.Name) and stores.count(target.id) == 1):
            continue
        if isinstance(given[0], (ast.Tuple, ast.List)):
            found[target.id] = tuple(_size(element, module, local) for element in given[0].elts)
    return found


def _size(node: ast.expr, module: Module, local: frozenset[str]) -> int | None:
    if isinstance(node, ast.Name) and node.id not in local and len(values := module.values.get(node.id, [])) == 1:
        node = values[0]
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


@on(ast.Call, evaluated=True)
def shape_kind(node: ast.Call, context: Context) -> Iterator[Violation]:
    for shape in _shapes(node, context):
        numbers = context.module.remembered(_sizes, context.function) if context.function is not None else frozenset()
        if _is_number(shape, numbers, context):
            yield report(NUMBER_AS_SHAPE, node)


@on(ast.Call, evaluated=True, span=BETA2)
def shape_length(node: ast.Call, context: Context) -> Iterator[Violation]:
    for shape in _shapes(node, context):
        if isinstance(shape, (ast.Tuple, ast.List)) and not shape.elts:
            yield report(NO_DIMENSIONS, node)


def _shapes(node: ast.Call, context: Context) -> list[ast.expr]:
    """The shape that a call in a function makes a tensor of, if it does."""
    if context.qualified(node.func) not in _MAKERS or context.function is None:
        return []
    return [*node.args[:1], *(keyword.value for keyword in node.keywords if keyword.arg == "shape")][:1]


def _sizes(function: Function, module: Module) -> frozenset[str]:
    """Names that a function binds once, to a number: a literal, or a size of a tensor that is unpacked."""
    nodes = module.own_nodes(function)
    stores = [node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)]
    assigned = [node for node in nodes if isinstance(node, ast.Assign) and len(node.targets) == 1]
    found: set[str] = set()
    for node in assigned:
        target, value = node.targets[0], node.value
        if isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, ast.Attribute) and value.attr == "shape":
            found |= {element.id for element in target.elts if isinstance(element, ast.Name)}
        elif isinstance(target, ast.Name) and isinstance(value, ast.Constant) and type(value.value) is int:
            found.add(target.id)
    return frozenset(name for name in found if stores.count(name) == 1)


def _is_number(node: ast.expr, numbers: frozenset[str], context: Context) -> bool:
    """Is an expression surely one number, and no sequence?"""
    if isinstance(node, ast.BinOp):
        return _is_number(node.left, numbers, context) and _is_number(node.right, numbers, context)
    if isinstance(node, ast.Name):
        return node.id in numbers or (
            node.id not in context.local and _size(node, context.module, frozenset()) is not None
        )
    if isinstance(node, ast.Subscript):
        of_shape = isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
        return of_shape and isinstance(node.slice, ast.Constant) and type(node.slice.value) is int
    return isinstance(node, ast.Constant) and type(node.value) is int


@on(ast.Subscript, evaluated=True, span=BETA2)
def index_range(node: ast.Subscript, context: Context) -> Iterator[Violation]:
    shape, indices = _shape_and_indices(node, context)
    for size, index in zip(shape, indices, strict=False):
        if size is not None and _leaves(index, size, context):
            yield report(OUT_OF_RANGE, index)


@on(ast.Subscript, evaluated=True)
def index_count(node: ast.Subscript, context: Context) -> Iterator[Violation]:
    shape, indices = _shape_and_indices(node, context)
    if shape and len(indices) > len(shape):
        yield report(TOO_MANY_INDICES, node)


def _shape_and_indices(node: ast.Subscript, context: Context) -> tuple[Shape, list[ast.expr]]:
    """The shape of a subscripted name, and its indices up to an ellipsis; empty where one is not known."""
    if context.function is None or not isinstance(node.value, ast.Name):
        return (), []
    shape = context.module.remembered(tensor_shapes, context.function).get(node.value.id, ())
    indices = list(node.slice.elts) if isinstance(node.slice, (ast.Tuple, ast.List)) else [node.slice]
    for position, index in enumerate(indices):
        if isinstance(index, ast.Starred) or (isinstance(index, ast.Constant) and index.value is Ellipsis):
            return shape, indices[:position]
    return shape, indices


def _leaves(index: ast.expr, size: int, context: Context) -> bool:
    """Does ``index`` surely leave a dimension of ``size``?"""
    if isinstance(index, ast.Slice):
        start, stop = _bound(index.lower, 0), _bound(index.upper, size)
        return _is_out(start, stop, size)
    is_ds = isinstance(index, ast.Call) and context.qualified(index.func) == "nki.language.ds" and len(index.args) == 2
    if is_ds and isinstance(index, ast.Call):
        start, extent = (_bound(argument, 0) for argument in index.args)
        return _is_out(start, None if start is None or extent is None else start + extent, size)
    number = _bound(index, 0)
    return number is not None and not 0 <= number < size


def _is_out(start: int | None, stop: int | None, size: int) -> bool:
    bad_start = start is not None and not -size <= start < size
    return bad_start or (stop is not None and not -size <= stop <= size)


def _bound(node: ast.expr | None, default: int) -> int | None:
    """The number that ``node`` is, ``default`` for a missing bound, ``None`` where that is not known."""
    if node is None:
        return default
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _bound(node.operand, default)
        return None if value is None else -value
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None
