"""Reductions. The order of a sum depends on the values only, never on how a tile was padded, masked or clamped."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ..errors import KernelError
from ..memory import Array, View
from ..numerics import FLOAT32, to_float32
from .core import Result, result_of

_BLOCK = 512
_CACHED = 1 << 16
"""Numbers that are converted to float64 at a time."""
_SHORT = 16
_MANY = 256
"""An axis of at most so many elements, in at least so many rows, is faster folded than reduced row by row."""
_ACCUMULATED = {"add": (np.add, 0.0), "multiply": (np.multiply, 1.0)}
_EXACT = {
    "maximum": np.maximum,
    "minimum": np.minimum,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}


def reduce_last(op: str, array: Array) -> Array:
    """Reduce the last axis of ``array`` and drop it."""
    return _reduce(op, array, 1)


def _reduce(op: str, array: Array, count: int) -> Array:
    """Reduce the last ``count`` axes of ``array`` and drop them.

    Sums and products accumulate in float64 over blocks of a fixed size that are padded with the identity, so trailing
    identities (a zero-padded tile) leave every bit as it is; the result is rounded to fp32 once. A single block ends
    where numpy would only add up identities: its summation splits numbers into halves down to 128, which it adds in
    eight rows.
    """
    if op in _ACCUMULATED:
        return _accumulated(array, count, *_ACCUMULATED[op]).astype(FLOAT32)
    if op not in _EXACT and op != "subtract":
        raise KernelError("", f"'{op}' is not a reduction operator")
    flat = np.ascontiguousarray(array)
    if count > 1:
        flat = flat.reshape(*flat.shape[:-count], -1)
    if op == "subtract":
        first = flat[..., 0].astype(np.float64)
        rest = reduce_last("add", flat[..., 1:]) if flat.shape[-1] > 1 else np.float64(0)
        result: Array = (first - rest).astype(FLOAT32)
        return result
    reduced = _folded(_EXACT[op], flat)
    return reduced.astype(FLOAT32) if reduced.dtype.kind == "b" else reduced


def _accumulated(array: Array, count: int, ufunc: np.ufunc, identity: float) -> Array:
    """``ufunc`` over the last ``count`` axes in float64: some rows at a time, whose numbers stay in a cache."""
    outer, inner = array.shape[: array.ndim - count], array.shape[array.ndim - count :]
    n, rows = prod(inner), prod(outer)
    whole = array if len(outer) == 1 else array.reshape(rows, *inner)
    blocks = -(-n // _BLOCK) if n else 1
    size = blocks * _BLOCK if n > _BLOCK // 2 else _BLOCK // 2 if n > _BLOCK // 4 else -(-n // 8) * 8 or 8
    partial = np.empty((rows, blocks))
    step = max(_CACHED // size, 1)
    for start in range(0, rows, step):
        part = whole if rows <= step else whole[start : start + step]
        padded = np.empty((len(part), size))
        if n < size:
            padded[:, n:] = identity
        given = padded if n == size else padded[:, :n]
        (given if count == 1 else given.reshape(part.shape))[...] = part
        parts = padded.reshape(len(part), blocks, -1)
        ufunc.reduce(parts, axis=-1, out=partial if rows <= step else partial[start : start + step])
    total: Array = partial[:, 0]
    for i in range(1, blocks):
        total = ufunc(total, partial[:, i])
    return total if len(outer) == 1 else total.reshape(outer)


def _folded(ufunc: np.ufunc, array: Array) -> Array:
    """``ufunc.reduce`` over the last axis. A short one is folded over all rows at once.

    NumPy reduces row by row, and begins each row anew: for the nine numbers of a window of 3 x 3, that costs ten times
    what the numbers do. No operator here rounds, so the order makes no difference, but for which of 0.0 and -0.0, or of
    two NaNs, a maximum gives: they compare as the same number.
    """
    n = array.shape[-1]
    if not 1 < n <= _SHORT or array.size < _MANY * n:
        whole: Array = ufunc.reduce(array, axis=-1)
        return whole
    found: Array = ufunc(array[..., 0], array[..., 1])
    for i in range(2, n):
        ufunc(found, array[..., i], out=found)
    return found


def reduce_axes(op: str, array: Array, axes: tuple[int, ...]) -> Array:
    """Reduce ``axes`` of ``array``; they stay as extents of 1."""
    shape, order = _reduced(array.shape, axes)
    return _reduce(op, array if order is None else array.transpose(order), len(axes)).reshape(shape)


@lru_cache(4096)
def _reduced(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """``shape`` with extents of 1 for ``axes``; and the dimensions in the order that has these at the end.

    ``None`` when they are there.
    """
    dimensions = tuple(range(len(shape)))
    order = (*(d for d in dimensions if d not in axes), *axes)
    return tuple(1 if d in axes else n for d, n in enumerate(shape)), None if order == dimensions else order


def reduce_free(op: str, array: Array) -> Array:
    """Reduce all free dimensions of (P, F...) to (P, 1)."""
    return _reduce(op, array, array.ndim - 1).reshape(-1, 1)


def tensor_reduce(
    op: str, data: View, axes: tuple[int, ...], *, negate: bool = False, keepdims: bool = False
) -> Result:
    """Reduce the free dimensions ``axes`` (1 is the first free one) in fp32; ``negate`` afterwards.

    The reduced dimensions disappear unless ``keepdims``; a tile never has fewer than two dimensions, so reducing all
    free dimensions gives (P, 1).
    """
    array = data.array if op.startswith("bitwise") else to_float32(data.array)
    values = reduce_axes(op, array, axes)
    if negate:
        values = -values
    kept, last, named = _reduction(array.shape, axes)
    if not keepdims:
        values = values.reshape(kept)
    if axes != last:  # recorded with the reduced dimensions innermost: however they were named, it is one access
        data = data.reading(np.moveaxis(data.array, axes, last))
    attributes: list[tuple[str, Any]] = [("op", op), ("axes", named)]
    if negate:
        attributes.append(("negate", True))
    return result_of("tensor_reduce", values, (("data", data),), tuple(attributes))


@lru_cache(4096)
def _reduction(
    shape: tuple[int, ...], axes: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...] | str]:
    """The shape that is left, the dimensions that ``axes`` are when they come last, and how the event names them.

    An extent of 1 is no dimension there.
    """
    left = tuple(n for d, n in enumerate(shape) if d not in axes)
    last = tuple(range(len(shape) - len(axes), len(shape)))
    kept = sum(n != 1 for d, n in enumerate(shape) if d and d not in axes)
    named = tuple(range(1 + kept, 1 + kept + len(axes))) if kept else "free"
    return (left if len(left) > 1 else (left[0], 1)), last, named


def tensor_partition_reduce(op: str, data: View) -> Result:
    """Reduce over the partitions: (P, F...) to (1, F...)."""
    values = reduce_axes(op, to_float32(data.array), (0,))
    return result_of("tensor_partition_reduce", values, (("data", data),), (("op", op),))
