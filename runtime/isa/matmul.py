"""TensorE: a systolic array of 128 x 128 by 512, whatever part of it an instruction uses.

Operands are zero-padded to the size of the array, or to a part of it that gives the same bits. The order of the
additions, and so every bit of the result, cannot depend on how large a slice the kernel happened to pass.

BLAS libraries add in another order at the edges of a product, so that a small one does not always have the bits of the
corner of a large one, and all of the array would be computed for a tile of 128 x 128. Of two layouts of the operands
(:data:`_LAYOUTS`) that one is taken in which small products have the bits of large ones: with OpenBLAS on processors
with AVX2 the one whose rows are a multiple of 12, with columns of zeros on both sides.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product as combinations
from threading import get_ident
from typing import Any

import numpy as np

from ..errors import KernelError
from ..memory import Array, View
from ..numerics import to_float32
from ..spec.hardware import GEMM_MOVING_FMAX, GEMM_STATIONARY_FMAX, PARTITIONS
from .core import Result, result_of


def matmul(
    stationary: View,
    moving: View,
    *,
    is_transpose: bool = False,
    double_row: bool = False,
    attributes: tuple[Any, ...] = (),
) -> Result:
    """``stationary.T @ moving``: (K, M...) and (K, N...) give (M, N...) in fp32; free dimensions are flattened.

    With ``double_row`` the contraction also runs over the first free dimension: (K, 2, M...) and (K, 2, N...).
    Raises :class:`KernelError` for K or M over 128, N over 512, or operands with different partition counts.
    """
    a, b = stationary.array, moving.array
    if a.shape[0] != b.shape[0]:
        raise KernelError(
            "err_num_partition_mismatch",
            f"number of partitions (dimension 0 size of a tile) mismatch in parameters (stationary, moving) of "
            f"'nc_matmul': {a.shape[0]} and {b.shape[0]}",
        )
    free = b.shape[2:] if double_row else b.shape[1:]
    first, second = (a[:, 0], b[:, 0]) if double_row else (a, b)
    first = first if first.ndim == 2 else _flat(first)
    second = second if second.ndim == 2 else _flat(second)
    if first.shape[1] > GEMM_STATIONARY_FMAX:
        raise _too_large("stationary", first.shape[1], GEMM_STATIONARY_FMAX)
    if second.shape[1] > GEMM_MOVING_FMAX:
        raise _too_large("moving", second.shape[1], GEMM_MOVING_FMAX)
    values = gemm(first, second)
    if double_row:
        values = values + gemm(_flat(a[:, 1]), _flat(b[:, 1]))
        attributes = (*attributes, ("perf_mode", "double_row"))
    if len(free) != 1:
        values = values.reshape(first.shape[1], *free)
    if is_transpose:
        attributes = (*attributes, ("is_transpose", True))
    return result_of(
        "nc_matmul", values, (("stationary", stationary), ("moving", moving)), attributes, accumulates=True
    )


def _flat(array: Array) -> Array:
    """(P, F...) with one free dimension."""
    return array.reshape(array.shape[0], -1)


@dataclass(frozen=True)
class _Layout:
    """How operands lie among zeros: ``margin`` columns of the moving one on either side, and the sizes of parts."""

    margin: int
    rows: tuple[int, ...]
    columns: tuple[int, ...]

    @property
    def whole(self) -> tuple[int, int, int]:
        return PARTITIONS, self.rows[-1], self.columns[-1]


_DEPTHS = (16, 32, 64, PARTITIONS)
_LAYOUTS = (
    _Layout(0, (32, 64, GEMM_STATIONARY_FMAX), (64, 128, 256, 384, GEMM_MOVING_FMAX)),
    _Layout(8, (36, 72, GEMM_STATIONARY_FMAX + 4), (64 + 16, 128 + 16, 256 + 16, 384 + 16, GEMM_MOVING_FMAX + 16)),
)


def gemm(a: Array, b: Array) -> Array:
    """``a.T @ b`` in fp32 on zero-padded operands: all of the array, or a part of it that gives the same bits."""
    partitions, height = a.shape
    width = b.shape[1]
    if width == partitions == _first_of_identity(b):
        selected = _selected(a)
        if selected is not None:
            return selected
    layout = _layout()
    depth, rows, columns = _part(layout, partitions, height, width)
    thread = get_ident()
    left = _padded(a, _zeros(thread, "stationary", partitions, height, depth, rows, 0), 0)
    right = _padded(b, _zeros(thread, "moving", partitions, width, depth, columns, layout.margin), layout.margin)
    product: Array = np.matmul(left.T, right)
    return product[:height, layout.margin : layout.margin + width]


def _first_of_identity(array: Array) -> int:
    """The size of ``array`` where it is an identity matrix that has more than one row, else 0."""
    size = array.shape[0]
    if size < 2 or array[0, 0] != 1 or array[0, 1] or array[1, 0] or array[-1, -1] != 1:
        return 0  # what most operands are is seen at four elements
    return size if np.array_equal(to_float32(array), _identity(size)) else 0


@cache
def _identity(size: int) -> Array:
    return np.identity(size, np.float32)


def _selected(a: Array) -> Array | None:
    """``a.T @ identity``: each sum has one term that is no zero. ``None`` where numbers are not finite.

    Kernels transpose that way. A sum of zeros is positive, so that -0 becomes 0 as in the product.
    """
    wide = np.ascontiguousarray(to_float32(a))
    if not np.isfinite(wide).all():
        return None
    transposed: Array = np.add(wide.T, np.float32(0), order="C")
    return transposed


def _padded(array: Array, zeros: Array, margin: int) -> Array:
    """``array`` in the first rows of ``zeros``, behind ``margin`` columns; itself where it is as large."""
    if array.shape == zeros.shape:
        return to_float32(array)
    partitions, given = array.shape
    zeros[:partitions, margin : margin + given] = array
    return zeros


@lru_cache(64)
def _zeros(thread: int, operand: str, partitions: int, given: int, depth: int, columns: int, margin: int) -> Array:
    """Zeros around the place of an operand of (``partitions``, ``given``), for all of them that one thread multiplies.

    Nothing is written beside that place, and a product is none of its operands.
    """
    return np.zeros((depth, columns), np.float32)


@cache
def _layout() -> _Layout:
    """The first layout in which products of the most common size have the bits of the whole array; else the first."""
    small = ((PARTITIONS, layout.rows[-1], layout.columns[1]) for layout in _LAYOUTS)
    return next((each for each, part in zip(_LAYOUTS, small, strict=True) if _is_exact(each, *part)), _LAYOUTS[0])


@cache
def _part(layout: _Layout, depth: int, rows: int, columns: int) -> tuple[int, int, int]:
    """The smallest part of the array for ``depth`` steps to a product of (``rows``, ``columns``) with the same bits."""
    wanted = (depth, rows, columns + 2 * layout.margin)
    known = (_DEPTHS, layout.rows, layout.columns)
    deep, high, wide = ([n for n in sizes if n >= least] for sizes, least in zip(known, wanted, strict=True))
    parts = sorted(combinations(deep, high, wide), key=lambda part: part[0] * part[1] * part[2])
    return next((part for part in parts if _is_exact(layout, *part)), layout.whole)


@cache
def _is_exact(layout: _Layout, depth: int, rows: int, columns: int) -> bool:
    """Does a part of the array give the bits of the whole, which goes on to add zeros?

    It depends on the BLAS library, so it is tried once for each part: one that adds products up in one order for some
    sizes and in another for others is found out here.
    """
    random = np.random.default_rng(0)
    width = columns - 2 * layout.margin
    left = random.standard_normal((depth, min(rows, GEMM_STATIONARY_FMAX)), np.float32)
    right = random.standard_normal((depth, GEMM_MOVING_FMAX), np.float32)
    of = layout.margin
    large = (np.zeros((PARTITIONS, n), np.float32) for n in (layout.rows[-1], layout.columns[-1]))
    small = (np.zeros((depth, n), np.float32) for n in (rows, columns))
    whole = _padded(left, next(large), 0).T @ _padded(right, next(large), of)
    alone = _padded(left, next(small), 0).T @ _padded(right[:, :width], next(small), of)
    height = left.shape[1]
    return bool(np.array_equal(whole[:height, of : of + width], alone[:height, of : of + width]))


def transpose(data: View, *, engine: str = "") -> Result:
    """(P, F...) to (F, P): free dimensions are flattened, bits are kept.

    What lies in rows far from each other is copied first: to read its columns would meet a few sets of the cache only.
    """
    array = data.array.reshape(data.array.shape[0], -1)
    if array.shape[1] > GEMM_STATIONARY_FMAX:
        raise _too_large("data", array.shape[1], GEMM_STATIONARY_FMAX)
    return result_of("nc_transpose", np.ascontiguousarray(array).T, (("data", data),))


def _too_large(operand: str, size: int, limit: int) -> KernelError:
    return KernelError(
        "err_size_of_dimension_exceed_arch_limit",
        f"size of dimension 1 in '{operand}' is {size}, which exceeds the architecture limitation of {limit}",
    )
