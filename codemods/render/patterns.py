"""Accesses that no slice can write: strided, permuted, overlapping, repeated. Beta 2 has ``.ap`` for them.

``tensor.ap(pattern=[[step, count], ...], offset=)`` walks the row-major elements of a whole tensor. On chip the first
pair is the partition, whose step must be the number of elements of one partition.

Source: NKI migration guide, "Dynamic access patterns"; a stepped slice is never written, because Beta 2 drops its step.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..expr import algebra
from ..expr.emission import Refuse
from ..expr.operands import Item, Operand, Step
from ..expr.values import Axis, Hbm, Index, Tile, Value
from ..project.least_ranks import counts_from_the_end
from ..syntax import codes
from .expressions import render
from .index import first_value

if TYPE_CHECKING:
    from ..analysis.scope import Scope

VECTORS = codes.INDEX_VECTORS


def row_strides(dims: tuple[str, ...]) -> tuple[str, ...]:
    """Elements between neighbours of each dimension of a row-major tensor."""
    return tuple(algebra.multiply("1", *dims[d + 1 :]) for d in range(len(dims)))


def strides_of(scope: Scope, node: ast.expr, base: Operand) -> tuple[tuple[str, ...], str]:
    """The step of each dimension of an access that slices write, and the element that it starts at.

    What no call tells is taken to be a whole tensor, and not a part of one: it is said.
    """
    if base.value.untold:
        scope.assume(f"'{base.base}' is a whole tensor", "a pattern counts from the tensor's first element")
    whole = base.value.dims
    if whole is None or base.dims is None:
        raise Refuse(node, VECTORS, f"an access pattern of '{base.base}', whose rank is not known", "write .ap(...)")
    rows = row_strides(whole)
    if base.items is None:
        return rows, "0"
    start = algebra.add(*(algebra.multiply(i.start, row) for i, row in zip(base.items, rows, strict=True)))
    return tuple("1" if s is None else rows[s] for s in base.sources), start


def with_pattern(base: Operand, steps: list[Step], offset: str, axes: list[Axis | None]) -> Operand:
    """``base`` read through ``.ap``."""
    dims = tuple(step.count for step in steps)
    sources: tuple[int | None, ...] = (None,) * len(dims)
    return replace(
        base, items=None, pattern=tuple(steps), offset=offset, dims=dims, sources=sources, axes=tuple(axes), shape=""
    )


def broadcast(scope: Scope, node: ast.expr, base: Operand, sizes: tuple[str, ...]) -> Operand:
    """An operand on the same partitions, of which free dimensions of size 1 are read again and again.

    A free dimension of a size that nothing tells has one element, which is asserted: what has as many as it is
    broadcast to needs no broadcast.
    """
    pairs = list(zip(base.dims or (), sizes, strict=False))
    numbers = [(scope.constant(own), scope.constant(size)) for own, size in pairs[1:]]
    wrong = any(own != size and own != 1 and None not in (own, size) for own, size in numbers)
    moved = bool(pairs) and not scope.equal(*pairs[0])
    known = moved and None not in (scope.constant(pairs[0][0]), scope.constant(pairs[0][1]))
    if base.dims is None or len(base.dims) != len(sizes) or known or wrong:
        raise Refuse(
            node, VECTORS, "broadcast_to of a tile that is not (partitions, 1)", "broadcast with .ap(...) or a copy"
        )
    if moved:
        scope.assert_equal(*pairs[0], "a broadcast along free dimensions")
    return spread(scope, node, _of_one_column(scope, base, base.dims, sizes), sizes)


def _of_one_column(scope: Scope, base: Operand, own: tuple[str, ...], sizes: tuple[str, ...]) -> Operand:
    """``base`` with one element along free dimensions of which nothing tells that they have ``sizes``."""
    free = range(1, len(own))
    untold = [n for n in free if scope.constant(own[n]) is None and not scope.equal(own[n], sizes[n])]
    for n in untold:
        scope.assert_equal(own[n], "1", "a broadcast along free dimensions")
    if not untold:
        return base
    dims = tuple("1" if n in untold else size for n, size in enumerate(own))
    value = replace(base.value, dims=dims) if base.value.dims == own else base.value
    return replace(base, value=value, dims=dims)


def spread(scope: Scope, node: ast.expr, view: Operand, dims: tuple[str, ...]) -> Operand:
    """``view`` over ``dims`` of the same rank: dimensions of size 1 are read again and again, on chip the free ones."""
    pairs = enumerate(zip(view.dims or (), dims, strict=True))
    wide = {d for d, (own, n) in pairs if _is_one(scope, own, n) and (d or isinstance(view.value, Hbm))}
    if not wide:
        return view
    base, steps = as_pattern(scope, node, view)
    scope.apply(VECTORS, node)
    repeated = [Step("0", dims[d]) if d in wide else step for d, step in enumerate(steps)]
    return with_pattern(base, repeated, base.offset, [None if d in wide else a for d, a in enumerate(base.axes)])


def repeated(scope: Scope, node: ast.expr, column: Operand, dims: tuple[str, ...]) -> Operand:
    """A (partitions, 1) tile over ``dims``, of which there may be more: every free dimension reads it again."""
    base, steps = as_pattern(scope, node, column)
    scope.apply(VECTORS, node)
    again = [Step("0", size) for size in dims[1:]]
    return with_pattern(base, [steps[0], *again], base.offset, [base.axes[0], *(None for _ in again)])


def _is_one(scope: Scope, size: str, other: str) -> bool:
    return scope.constant(size) == 1 and scope.constant(other) != 1


def common_dims(scope: Scope, views: Sequence[Operand]) -> tuple[str, ...] | None:
    """The sizes that operands of one rank broadcast to; ``None`` where a rank is not known, or they differ."""
    ranks = {len(view.dims) if view.dims is not None else None for view in views}
    if len(ranks) != 1 or None in ranks:
        return None
    columns = zip(*(view.dims or () for view in views), strict=True)
    return tuple(next((n for n in sizes if scope.constant(n) != 1), sizes[0]) for sizes in columns)


def whole_tensor(node: ast.expr, base: Operand) -> Operand:
    """What ``.ap`` can be applied to: the tensor that a view is a part of."""
    if base.pattern is not None:
        raise Refuse(node, VECTORS, "an access pattern of an access pattern", "write one .ap(...) on the tensor")
    if base.is_view:
        if base.origin is None:
            what = f"a part of '{base.base}', which may be a part of a tensor itself: the source does not tell which"
            raise Refuse(node, VECTORS, what, "copy it to a tile of its own first, or take the part of the tensor")
        return base.origin
    return base


def indexed(
    scope: Scope, node: ast.Subscript, base: Operand, elements: list[ast.expr], vectors: list[Value | None]
) -> Operand:
    """``base[elements]`` with index vectors that are strided, permuted, or sums of several axes."""
    base = whole_tensor(node, base)
    if base.value.dims is None:
        base = ranked(scope, node, base)
    rows, offset = strides_of(scope, node, base)
    base = replace(base, first=algebra.add(_first(base), _shift(scope, elements[0], vectors[0])))
    rank = max(v.ndim for v in vectors if isinstance(v, Index))
    strides: list[list[str]] = [[] for _ in range(rank)]
    axes: list[Axis | None] = [None] * rank
    for d, (element, vector) in enumerate(zip(elements, vectors, strict=True)):
        if not isinstance(vector, Index):
            offset = algebra.add(offset, algebra.multiply(rows[d], render(scope, element)))
            continue
        offset = algebra.add(offset, algebra.multiply(rows[d], vector.offset))
        for term in vector.terms:
            position = term.position + rank - vector.ndim
            step = algebra.multiply(rows[d], term.coefficient)
            offset = algebra.add(offset, algebra.multiply(step, term.axis.start))
            known = axes[position]
            if known is not None and known != term.axis and not scope.equal(known.size, term.axis.size):
                raise Refuse(node, VECTORS, "two index vectors of different sizes in one dimension", "write .ap(...)")
            axes[position] = known or term.axis
            strides[position].append(step)
    check_mates(scope, node, [v for v in vectors if isinstance(v, Index)], axes)
    steps = [
        Step(_shortest(scope, algebra.add(*found)) if found else "1", axis.size if axis is not None else "1")
        for found, axis in zip(strides, axes, strict=True)
    ]
    if isinstance(base.value, Tile):
        steps, axes = _partition_first(scope, node, base, steps, axes, vectors[0])
    scope.apply(VECTORS, node)
    return with_pattern(base, steps, _shortest(scope, offset), axes)


def _first(base: Operand) -> str:
    """The first index of an access in the first dimension of its tensor."""
    return base.items[0].start if base.items else base.first


def _shift(scope: Scope, element: ast.expr, vector: Value | None) -> str:
    """The first number that an index is."""
    return first_value(vector) if isinstance(vector, Index) else render(scope, element)


def check_mates(scope: Scope, node: ast.Subscript, vectors: list[Index], axes: list[Axis | None]) -> None:
    """A component of an ``mgrid`` without the others repeats what it reaches.

    Another vector in the dimension of a missing one has its size, where the source does not show another: Beta 1
    broadcasts no other sizes, and what is repeated is refused by Beta 2, because the counts differ.
    """
    for vector in vectors:
        for mate in vector.mates:
            walked = axes[mate.position + len(axes) - vector.ndim]
            sizes = (scope.constant(walked.size), scope.constant(mate.axis.size)) if walked is not None else (0, 1)
            covered = walked is not None and (None in sizes or sizes[0] == sizes[1])
            if not covered and scope.constant(mate.axis.size) != 1:
                raise Refuse(
                    node,
                    VECTORS,
                    "a component of an mgrid without the others: it repeats the access along their dimensions",
                    "use nl.arange(...)[:, None] where only one dimension is meant",
                )


def of_rank(scope: Scope, view: Operand, rank: int) -> Operand:
    """A whole tensor whose rank the source does not tell, taken to be ``rank``: the kernel asserts it."""
    value = scope.names.env.get(view.base)
    whole = view.items is None and view.pattern is None and not view.is_view
    dims = tuple(f"{view.base}.shape[{d}]" for d in range(rank))
    known = replace(view.value, dims=dims)
    if view.dims is not None or not whole or value not in (view.value, known):
        return view
    if value != known:
        assert_dimensions(scope, view, rank)
        scope.names.env[view.base] = known
    axes: tuple[Axis | None, ...] = (None,) * rank
    return replace(view, value=known, dims=dims, axes=axes)


def assert_rank(scope: Scope, view: Operand) -> None:
    """The kernel asserts the rank that a subscript means, where the source does not tell the tensor's."""
    known = scope.names.env.get(view.base, view.value)  # nothing is known of the field of an object under its own name
    if view.value.dims is None and view.items is not None and known == view.value:
        if view.dims == () and counts_from_the_end(scope.function, view.base):
            what = f"'{view.base}' may have more dimensions than this subscript names: its rank is not known"
            raise Refuse(scope.place.statement or scope.function, VECTORS, what, "write every dimension: x[i, j, :, :]")
        assert_dimensions(scope, view, len(view.items))


def assert_all_named(scope: Scope, view: Operand, count: int) -> None:
    """A subscript of ``count`` indices names all dimensions of a tile, where branches gave it different ranks."""
    ranks = view.value.ranks if isinstance(view.value, Tile) else ()
    if ranks and count < max(ranks):
        assert_dimensions(scope, view, count)


def of_name(scope: Scope, name: str, value: Hbm | Tile) -> Operand:
    """A whole tensor by its name."""
    axes: tuple[Axis | None, ...] = (None,) * len(value.dims or ())
    origin = value.origin if isinstance(value.origin, Operand) else None
    return Operand(name, value, value.dims, nl=scope.nl, axes=axes, is_view=value.view, origin=origin)


def rest_of(whole: Operand, indices: tuple[str, ...]) -> Operand:
    """``x[i]`` of a tensor of unknown rank, with all the dimensions that it leaves, however many these are."""
    text = f"{whole.base}[{', '.join(indices)}]"
    shape = f"{whole.base}.shape[{len(indices)}:]"
    return replace(whole, base=text, shape=shape, is_view=True, origin=replace(whole, prefix=indices))


def rank_test(name: str, rank: int) -> str:
    """What the kernel asserts of a tensor whose rank the source does not tell."""
    return f"len({name}.shape) == {rank}"


def assert_dimensions(scope: Scope, view: Operand, rank: int) -> None:
    """The kernel asserts that a tensor has ``rank`` dimensions, where branches did not give it others."""
    given = view.value.ranks if isinstance(view.value, Tile) else ()
    if given and rank not in given:
        what = f"'{view.base}' has {' or '.join(map(str, given))} dimensions, and is used as a tile of {rank}"
        raise Refuse(scope.place.statement or scope.function, VECTORS, what, "use it in the branches that create it")
    scope.assert_that(rank_test(view.base, rank), f"{rank} dimension{'' if rank == 1 else 's'}")


def ranked(scope: Scope, node: ast.expr, base: Operand) -> Operand:
    """An HBM parameter of unknown rank: the subscript tells it, and the kernel asserts it."""
    assert base.dims is not None
    rank = len(base.dims if base.items is None else base.items)
    known = scope.names.env.setdefault(base.base, base.value)
    if isinstance(known, Hbm) and known.dims is not None and len(known.dims) == rank:
        return replace(base, value=known)
    if known != base.value:
        raise Refuse(node, VECTORS, "an access pattern of a tensor whose rank is not known", "write .ap(...) by hand")
    if base.items is None:
        return of_rank(scope, replace(base, dims=None), rank)
    return replace(base, value=of_rank(scope, of_name(scope, base.base, base.value), rank).value)


def _shortest(scope: Scope, text: str) -> str:
    """A sum of products, as a number where it is one."""
    constant = scope.constant(text) if any(c.isdigit() for c in text) else None
    return text if constant is None or constant < 0 or algebra.names(text) else str(constant)


def _partition_first(
    scope: Scope,
    node: ast.Subscript,
    base: Operand,
    steps: list[Step],
    axes: list[Axis | None],
    partition: Value | None,
) -> tuple[list[Step], list[Axis | None]]:
    """On chip the first pair walks the partitions one by one, whatever the others do."""
    assert base.value.dims is not None
    pitch = row_strides(base.value.dims)[0]
    if len(steps) < 2:
        raise Refuse(node, VECTORS, "an access pattern of one dimension", "write .ap(...) with a free pair too")
    plain = isinstance(partition, Index) and len(partition.terms) == 1 and partition.terms[0].coefficient == "1"
    first = isinstance(partition, Index) and plain and partition.terms[0].position + len(steps) - partition.ndim == 0
    if isinstance(partition, Index) and not first and partition.terms:
        raise Refuse(
            node, VECTORS, "a strided or permuted access to partitions", "move the rows with a DMA or a transpose"
        )
    if first and not scope.equal(steps[0].stride, pitch):
        raise Refuse(node, VECTORS, "an index vector that walks partitions and columns", "copy the diagonal by hand")
    if not first and axes[0] is not None:
        raise Refuse(node, VECTORS, "an access whose first dimension is not the partition", "transpose the tile first")
    return [Step(pitch, steps[0].count), *steps[1:]], axes


def recut(base: Operand, inner: Operand, items: list[Item]) -> Operand:
    """A subscript of a subscript as one: ``inner`` was written on the dimensions that ``base`` left."""
    combined = list(items)
    for r, item in enumerate(inner.items or ()):
        d = base.sources[r]
        if d is not None:
            outer = items[d]
            start = algebra.add(outer.start, item.start)
            combined[d] = Item(start, item.count, outer.full and item.full, item.point)
    sources = tuple(None if s is None else base.sources[s] for s in inner.sources)
    return replace(inner, base=base.base, value=base.value, items=tuple(combined), sources=sources)


def permuted(scope: Scope, node: ast.expr, base: Operand, innermost: tuple[int, ...]) -> Operand:
    """The same elements with the dimensions ``innermost`` behind all others."""
    order = [*(d for d in range(len(base.dims or ())) if d not in innermost), *innermost]
    base, steps = as_pattern(scope, node, base)
    return with_pattern(base, [steps[d] for d in order], base.offset, [base.axes[d] for d in order])


def as_pattern(scope: Scope, node: ast.expr, base: Operand) -> tuple[Operand, tuple[Step, ...]]:
    """An access as a pattern, and its steps."""
    if base.pattern is not None:
        return base, base.pattern
    tensor = whole_tensor(node, base)
    if tensor.pattern is not None:
        return tensor, tensor.pattern
    if tensor.value.dims is None:
        tensor = ranked(scope, node, tensor)
    strides, offset = strides_of(scope, node, tensor)
    assert tensor.dims is not None
    steps = tuple(Step(stride, count) for stride, count in zip(strides, tensor.dims, strict=True))
    tensor = replace(tensor, first=_first(tensor))
    return with_pattern(tensor, list(steps), offset, list(tensor.axes) or [None] * len(steps)), steps
