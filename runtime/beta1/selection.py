"""What ints, slices, ``nl.ds`` and index vectors select of a strided tensor, and which dimensions they may leave."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import Any

import numpy as np

from ..errors import KernelError
from .base import Shape
from .indexing import Number, broadcast
from .tokens import Slice

_INTS = (int, np.integer)


@dataclass(frozen=True)
class Limit:
    """How one dimension of ``size`` is indexed: ``const + sum(coefficients[r] * position[r])``."""

    dimension: int
    size: int
    const: Number
    coefficients: tuple[int, ...]


Cut = tuple["int | slice", ...]


@lru_cache(4096)
def selection(
    keys: tuple[Any, ...], sizes: Shape, steps: Shape, itemsize: int
) -> tuple[int, Shape, Shape, tuple[Limit, ...], Cut | None]:
    """Offset, shape, strides and limits of what ``keys`` select from a tile of ``sizes`` with the strides ``steps``.

    A slice is the tuple (start, stop, step). ``itemsize`` is 0 in HBM, where no dimension has to stay. The last item
    is the subscript by which numpy selects the same, where there is one.
    """
    shape: list[int] = []
    strides: list[int] = []
    cut: list[int | slice] = []
    outside: list[tuple[int, int, int, int, int]] = []
    offset = 0
    for d, k in enumerate(keys):
        size, stride = sizes[d], steps[d]
        start, count, step, stays = span(slice(*k) if isinstance(k, tuple) else k, size)
        stays = stays or (d == 0 and itemsize > 0)
        if start < 0 or start + step * (count - 1) >= size:
            outside.append((d, size, start, step, len(shape) if stays else -1))
        offset += start * stride
        if stays:
            shape.append(count)
            strides.append(stride * step)
        cut.append(slice(start, start + step * count, step) if stays else start)
    shape += sizes[len(keys) :]
    strides += steps[len(keys) :]
    alike = bool(shape) and 0 not in shape and not outside  # numpy's result would be no array, or begin elsewhere
    if itemsize and len(shape) < 2:
        shape.append(1)
        strides.append(itemsize)
        alike = False
    limits = _limits(outside, len(shape)) if outside else ()
    return offset, tuple(shape), tuple(strides), limits, tuple(cut) if alike else None


def _limits(outside: list[tuple[int, int, int, int, int]], rank: int) -> tuple[Limit, ...]:
    """The limits of dimensions (number, size, start, step, dimension of the result or -1): those that go come first."""
    return tuple(
        Limit(d, size, start, tuple(step if k == r else 0 for k in range(rank)))
        for d, size, start, step, r in sorted(outside, key=lambda dimension: dimension[-1] >= 0)
    )


def span(k: Any, size: int) -> tuple[int, int, int, bool]:
    """Start, count, step of one basic index, and whether its dimension stays."""
    if isinstance(k, slice):
        start = 0 if k.start is None else int(k.start)
        stop = size if k.stop is None else int(k.stop)
        step = 1 if k.step is None else int(k.step)
        if start < 0 or stop < 0 or step < 1:
            raise KernelError("", f"negative index in slice {start}:{stop}:{step}")
        return start, max(-(-(stop - start) // step), 0), step, True
    if isinstance(k, _INTS):
        return int(k), 1, 1, False
    if isinstance(k, Slice):
        return int(k.start), int(k.size), 1, True
    raise KernelError("", f"'{type(k).__name__}' cannot index a tensor")


# --- index vectors ---------------------------------------------------------------------------------------------------


Affine = tuple[int, Shape, Shape, tuple[Limit, ...], bool]


@lru_cache(4096)
def plain_affine(
    keys: tuple[Any, ...], sizes: Shape, strides: Shape, on_chip: bool
) -> tuple[int, Shape, Shape, tuple[Limit, ...]] | None:
    """:func:`affine`; ``None`` where that has to be judged.

    The vectors may differ in rank, or have a constant that is no int; the result may be none that a tile can be.
    """
    vectors = [k for k in keys if isinstance(k, tuple)]
    if len({len(extents) for _, (extents, _) in vectors}) != 1 or any(type(const) is not int for const, _ in vectors):
        return None
    offset, shape, steps, limits, partitions_elsewhere = affine(keys, sizes, strides)
    return None if on_chip and (len(shape) < 2 or partitions_elsewhere) else (offset, shape, steps, limits)


def affine(keys: tuple[Any, ...], sizes: Shape, strides: Shape) -> Affine:
    """Offset, shape, strides and limits of what ints and index vectors select, one for each dimension.

    A vector is the tuple (constant, (extents, coefficients)). The last item is whether the first dimension of the
    tensor varies along another one of the result than the first.
    """
    forms = [k[1] if isinstance(k, tuple) else None for k in keys]
    consts = [k[0] if isinstance(k, tuple) else int(k) for k in keys]
    pattern = _pattern(tuple(forms), sizes, strides)
    limits = tuple(
        Limit(d, sizes[d], const, pattern.coefficients[d])
        for d, const in enumerate(consts)
        if not pattern.least[d] <= const <= pattern.most[d]
    )
    offset = sum(const * stride for const, stride in zip(consts, strides, strict=True))
    return offset, pattern.shape, pattern.strides, limits, pattern.partitions_elsewhere


@dataclass(frozen=True)
class _Pattern:
    """What a subscript by index vectors gives, whatever their constants.

    ``shape`` and ``strides`` are those of the result, ``coefficients`` of each dimension of the tensor along those of
    the result; ``least`` and ``most`` are the constants of each between which all elements are in bounds.
    ``partitions_elsewhere``: does the first dimension of the tensor vary along another one of the result than the
    first?
    """

    shape: Shape
    strides: Shape
    coefficients: tuple[tuple[int, ...], ...]
    least: tuple[float, ...]
    most: tuple[float, ...]
    partitions_elsewhere: bool


@lru_cache(4096)
def _pattern(forms: tuple[tuple[Shape, Shape] | None, ...], sizes: Shape, strides: Shape) -> _Pattern:
    """The pattern of the extents and coefficients ``forms`` (``None``: a number) on a tensor of ``sizes``."""
    shape = broadcast(*(form[0] for form in forms if form is not None))
    rank = len(shape)
    coefficients = tuple(_coefficients(form, rank) for form in forms)
    found = [sum(c[r] * stride for c, stride in zip(coefficients, strides, strict=True)) for r in range(rank)]
    steps = [[c * (n - 1) for c, n in zip(along, shape, strict=True)] for along in coefficients]
    spans = [(sum(min(s, 0) for s in along), sum(max(s, 0) for s in along)) for along in steps]
    least = tuple(-inf if 0 in shape else -low for low, _ in spans)
    most = tuple(inf if 0 in shape else size - 1 - high for (_, high), size in zip(spans, sizes, strict=True))
    return _Pattern(shape, tuple(found), coefficients, least, most, any(coefficients[0][1:]))


def _coefficients(form: tuple[Shape, Shape] | None, rank: int) -> tuple[int, ...]:
    if form is None:
        return (0,) * rank
    kept = tuple(c if n > 1 else 0 for n, c in zip(*form, strict=True))
    return (0,) * (rank - len(kept)) + kept
