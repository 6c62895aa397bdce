"""Dynamic accesses: a tile is an index. Beta 2 reads it through ``.ap(..., scalar_offset=)`` or ``vector_offset=``.

A (1, 1) tile shifts the start along one dimension; a (P, 1) tile names the rows of a tensor in HBM. Behind numbers, it
names those of the tensor in which the dimensions up to its own are one.

Source: NKI migration guide, "Scalar Dynamic Access" and "Vector Dynamic Access".
"""

from __future__ import annotations

import ast
import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

from ..expr import algebra
from ..expr.emission import Refuse
from ..expr.values import Axis, Hbm, Index, Term, Tile, Value
from ..project.least_ranks import rank_at_least
from ..render.expressions import render, render_named
from ..render.index import index_value
from ..render.patterns import VECTORS, indexed, of_name, of_rank, ranked, row_strides
from ..syntax.format import tuple_text

if TYPE_CHECKING:
    from ..analysis.scope import Scope
    from ..expr.operands import Operand

_uids = itertools.count(-1, -1)
_HELP = "write it as .ap(..., scalar_offset=) or .ap(..., vector_offset=)"


def dynamic_access(scope: Scope, node: ast.Subscript, base: Operand, elements: list[ast.expr]) -> Operand | None:
    """``base[elements]`` where one element holds a tile; ``None`` where none does."""
    found = [(d, part) for d, element in enumerate(elements) if (part := _split(scope, element)) is not None]
    if not found:
        return None
    if len(found) > 1 or base.dims is None:
        raise Refuse(node, VECTORS, "an access with several index tiles, or to a tensor of unknown rank", _HELP)
    ((d, (index, rest)),) = found
    if index.pattern is not None or not index.dims:
        raise Refuse(node, VECTORS, f"the shape of the index tile '{index.base}' is not known", _HELP)
    elements = [*elements[:d], rest, *elements[d + 1 :]]
    one = [scope.constant(size) == 1 for size in index.dims]
    if all(one):
        dynamic = f", scalar_offset={index.text(())}, indirect_dim={d}"
        return replace(_static(scope, node, base, elements, {}), dynamic=dynamic)
    whole_row = isinstance(rest, ast.Constant) and rest.value == 0
    plain = all(not scope.evaluator.is_slice(scope, e) and index_value(scope, e) is None for e in elements[:d])
    taken = _numbers_of(base)
    if not plain or not all(one[1:]) or isinstance(base.value, Tile) or taken is None or not whole_row:
        raise Refuse(node, VECTORS, "an index tile of several rows, but not of the first dimension alone", _HELP)
    numbers = [*taken, *(render_named(scope, number) for number in elements[:d])]
    base, first = _joined_rows(scope, node, base, numbers)
    axis = index.axes[0] or _axis(index.dims[0])
    rows = _static(scope, node, base, elements[d:], {0: replace(axis, start="0")})
    return replace(rows, offset=algebra.add(first, rows.offset), rows_at=index, joined=bool(numbers))


def _numbers_of(base: Operand) -> list[str] | None:
    """The numbers of an access that is ``x`` or ``x[b]``, one whole part of a tensor; ``None`` for any other."""
    items = list(base.items or ())
    numbers = list(itertools.takewhile(lambda item: item.point, items))
    return [item.start for item in numbers] if all(item.full for item in items[len(numbers) :]) else None


def _joined_rows(scope: Scope, node: ast.Subscript, base: Operand, numbers: list[str]) -> tuple[Operand, str]:
    """``x[b]`` for a tile of indices in the next dimension: ``x`` with both as one, and the element that starts it."""
    if not numbers:
        return base, "0"
    whole = base.value
    if isinstance(whole, Hbm) and whole.dims is None and not base.is_view:
        whole = ranked(scope, node, base).value
    if not isinstance(whole, Hbm) or whole.dims is None or base.is_view or len(whole.dims) < len(numbers) + 2:
        raise Refuse(node, VECTORS, "an index tile of several rows in a part of a tensor", _HELP)
    count = len(numbers) + 1
    strides = row_strides(whole.dims)
    first = algebra.add(*(algebra.multiply(stride, n) for n, stride in zip(numbers, strides, strict=False)))
    dims = (algebra.multiply(*whole.dims[:count]), *whole.dims[count:])
    text = f"{base.base}.reshape({tuple_text(dims)})"
    return of_name(scope, text, replace(whole, dims=dims, origin=None)), first


def tell_rank(scope: Scope, source: ast.expr, rank: int) -> None:
    """``x[i[0, 0]]`` fills ``rank`` dimensions: an ``x`` whose rank the source does not tell has them behind the index.

    The kernel asserts it: Beta 1 would broadcast fewer dimensions, too.
    """
    name = source.value.id if isinstance(source, ast.Subscript) and isinstance(source.value, ast.Name) else ""
    value = scope.names.env.get(name)
    if not isinstance(source, ast.Subscript) or not isinstance(value, Hbm) or value.dims is not None or value.view:
        return
    elements = source.slice.elts if isinstance(source.slice, ast.Tuple) else [source.slice]
    plain = all(
        not (scope.evaluator.is_slice(scope, e) or (isinstance(e, ast.Constant) and e.value in (..., None)))
        for e in elements
    )
    if not plain or any(index_value(scope, element) is not None for element in elements):
        return
    tiles = [tile for element in elements if (tile := index_tile(scope, element)) is not None]
    if len(tiles) == 1 and tiles[0].dims and all(scope.constant(size) == 1 for size in tiles[0].dims):
        of_rank(scope, of_name(scope, name, value), len(elements) + rank)


def index_tile(scope: Scope, element: ast.expr) -> Operand | None:
    """The tile that an index holds, alone or in a sum."""
    found = _summands(scope, element)
    return found[0] if found is not None else None


def _split(scope: Scope, element: ast.expr) -> tuple[Operand, ast.expr] | None:
    """The index tile in a sum, and what is added to it."""
    found = _summands(scope, element)
    if found is None:
        return None
    tile, others = found
    if not others:
        zero = ast.copy_location(ast.Constant(0), element)
        scope.draft.put(scope.module.plan.edits.expressions, zero, "0")
        return tile, zero
    total = others[0]
    for other in others[1:]:
        total = _added(scope, element, total, other)
    return tile, total


def _summands(scope: Scope, element: ast.expr) -> tuple[Operand, list[ast.expr]] | None:
    """The index tile in a sum, and the other summands."""
    if isinstance(element, ast.BinOp) and isinstance(element.op, ast.Add):
        for tile, other in ((element.left, element.right), (element.right, element.left)):
            inner = _summands(scope, tile)
            if inner is not None:
                return inner[0], [*inner[1], other]
        return None
    if isinstance(element, ast.Name | ast.Subscript) and index_value(scope, element) is None:
        view = scope.evaluator.operand(scope, element)
        if view is not None and isinstance(view.value, Tile):
            return view, []
    return None


def _added(scope: Scope, element: ast.expr, a: ast.expr, b: ast.expr) -> ast.expr:
    """``a + b``, which stands nowhere in the source: numbers have their text from here."""
    total = ast.copy_location(ast.BinOp(a, ast.Add(), b), element)
    if index_value(scope, total) is None:
        scope.draft.put(scope.module.plan.edits.expressions, total, f"{render(scope, a)} + {render(scope, b)}")
    return total


def _axis(size: str, start: str = "0") -> Axis:
    return Axis(next(_uids), start, size, "")


def _of_element(scope: Scope, node: ast.Subscript, base: Operand, elements: list[ast.expr]) -> Index:
    """The index of a single element; raises :class:`Refuse` where the rank of its tensor is not known."""
    if not _is_element(scope, node, base, len(elements)):
        what = f"a single element of '{base.base}' at a dynamic place, as far as its rank is known"
        raise Refuse(node, VECTORS, what, "write every dimension: x[i[0, 0], :]")
    return Index(2, (), render(scope, elements[0]))


def _walks_rows(vector: Index, rank: int) -> bool:
    """Does a vector walk the first dimension of an access of ``rank`` dimensions?"""
    return any(term.position + rank - vector.ndim == 0 for term in vector.terms)


def _sliced(scope: Scope, node: ast.Subscript, element: ast.expr, size: str) -> Axis:
    """What a slice of a dimension of ``size`` elements walks."""
    item = scope.evaluator.basic_item(scope, node, element, size)
    return _axis(item.count, item.start)


def _static(
    scope: Scope, node: ast.Subscript, base: Operand, elements: list[ast.expr], rows: dict[int, Axis]
) -> Operand:
    """The access without its dynamic part, as a pattern; ``rows`` are dimensions that an index tile walks."""
    assert base.dims is not None
    slices = [d for d, element in enumerate(elements) if scope.evaluator.is_slice(scope, element)]
    vectors: list[Value | None] = [index_value(scope, e) if d not in slices else None for d, e in enumerate(elements)]
    given = [v for v in vectors if isinstance(v, Index)]
    if slices and given:
        raise Refuse(node, VECTORS, "a subscript that mixes slices and index vectors", "write slices only")
    walked = sorted([*slices, *rows]) if slices or not given else sorted(rows)
    rank = max(1, max((v.ndim for v in given), default=len(walked)))
    if rows and any(_walks_rows(vector, rank) for vector in given):
        raise Refuse(node, VECTORS, "an index tile and an index vector that walk the same rows", _HELP)
    for position, d in enumerate(walked):
        axis = _sliced(scope, node, elements[d], base.dims[d]) if d in slices else rows[d]
        vectors[d] = Index(rank, (Term(axis, "1", position),))
    if not any(isinstance(v, Index) for v in vectors):
        vectors[0] = _of_element(scope, node, base, elements)
    return indexed(scope, node, base, elements, vectors)


def _is_element(scope: Scope, node: ast.Subscript, base: Operand, count: int) -> bool:
    """Are ``count`` numbers one element of a tensor in HBM? One whose rank is not known is taken to have as many."""
    if isinstance(base.value, Tile) or base.items is not None or base.is_view:
        return False
    if base.value.dims is not None:
        return len(base.value.dims) == count
    return rank_at_least(scope.function, node, base.base) <= count
