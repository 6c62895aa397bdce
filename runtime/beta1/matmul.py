"""TensorE: ``nisa.nc_matmul`` and ``nl.matmul``.

Masks (``reference/beta1.md`` 3.4). An index vector of the mask that is the free index of ``stationary`` restricts the
rows of the result, one that is the free index of ``moving`` its columns. Any other one is taken by its position: the
first dimension of the mask is the partition dimension of the result, the others are its free dimensions. An operand
mask does the same for the index vectors of its operand: over the partitions it cuts the contraction, over the free
dimensions the result (NKI 2.26.1, "NKI API Masking": a smaller input tile). Elements that an operand mask over several
dimensions at once excludes contribute nothing.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .. import isa
from ..errors import KernelError, NotModelled
from ..isa.core import result_of
from ..memory import Array, Computed, View
from ..numerics import FLOAT32
from ..spec.dtypes import DOUBLE_FP8
from ..spec.hardware import GEMM_MOVING_FMAX, GEMM_STATIONARY_FMAX
from .operands import mismatch
from .pending import Call, call_of, in_sbuf
from .regions import EVERYWHERE, NOWHERE, Region, both
from .tensor import Access, Tile
from .tokens import PSUM, dtype_of


def nc_matmul(
    stationary: Any,
    moving: Any,
    *,
    is_stationary_onezero: bool = False,
    is_moving_onezero: bool = False,
    is_transpose: bool = False,
    tile_position: Any = (),
    tile_size: Any = (),
    perf_mode: Any = None,
    mask: Any = None,
    **_: Any,
) -> Tile:
    """``stationary.T @ moving``: (K, M) and (K, N) in SBUF give (M, N) fp32 in PSUM; K, M <= 128 and N <= 512.

    Several free dimensions are flattened, the result keeps those of ``moving``. With ``perf_mode="double_row_gen3"``
    the operands are (K, 2, M) and (K, 2, N) and both rows are summed.
    """
    call = call_of("nc_matmul", mask)
    if is_stationary_onezero or is_moving_onezero or tile_position or tile_size:
        call.told(
            is_stationary_onezero=bool(is_stationary_onezero),
            is_moving_onezero=bool(is_moving_onezero),
            tile_position=tile_position,
            tile_size=tile_size,
        )
    if type(stationary) is not Tile or stationary.buffer is PSUM:
        stationary = in_sbuf(call, stationary)
    if type(moving) is not Tile or moving.buffer is PSUM:
        moving = in_sbuf(call, moving)
    a, b = call.tile("stationary", stationary, "sbuf"), call.tile("moving", moving, "sbuf")
    if a.shape[0] != b.shape[0]:
        raise mismatch(call.op, ("stationary", a), ("moving", b))
    if perf_mode not in (None, "", "none"):
        return _double_row(call, a, b, str(perf_mode))
    shape = (prod(a.shape[1:]), *b.shape[1:])
    region = EVERYWHERE
    if mask is None and a.restriction is None and b.restriction is None:
        left, right = call.view(a), call.view(b)
    else:
        region = _result_region(call.region, mask, a, b, shape)
        if region.skip:
            return call.give(None, shape, FLOAT32, buffer=PSUM, where=region)
        left, right = _operands(a, b, region)
    result = isa.matmul(left, right, is_transpose=is_transpose)
    dtype = a.dtype if is_transpose and _writes_input_type(call) else FLOAT32
    return call.give(result, shape, dtype, buffer=PSUM, where=region)


def _writes_input_type(call: Call) -> bool:
    """From gen3 on, a transpose by matmul leaves the type of its operand in PSUM."""
    return call.state.machine.target.version >= 3


def _result_region(region: Region, mask: Any, a: Tile, b: Tile, shape: tuple[int, ...]) -> Region:
    """The part of the product that ``mask`` and operand masks leave (module docstring)."""
    if region is EVERYWHERE and a.restriction is None and b.restriction is None:
        return region
    region = both(_masked_region(region, mask, a, b, shape), _operand_region(a, shape, {1: 0}))
    region = both(region, _operand_region(b, shape, {d: d for d in range(1, b.ndim)}))
    return NOWHERE if _contraction(a, b).skip else region


def _contraction(a: Tile, b: Tile) -> Region:
    """The part of the contraction that operand masks leave, as the region of one dimension."""
    left = Region(1, {})
    for tile in (a, b):
        inside = tile.restriction
        found = inside.interval(0, tile.ndim, tile.shape[0]) if inside is not None and not inside.skip else None
        left = left if found is None else both(left, Region(1, {0: found}))
    return left


def _operand_region(tile: Tile, shape: tuple[int, ...], places: dict[int, int]) -> Region:
    """The part of the product that an operand's mask leaves; ``places`` are its free dimensions in the product."""
    if tile.restriction is None or tile.restriction.skip:
        return EVERYWHERE if tile.restriction is None else NOWHERE
    found = _of_rank(tile.restriction, tile.ndim)
    if len(places) != tile.ndim - 1 or found.residual:
        return EVERYWHERE
    return Region(len(shape), {at: found.box[d] for d, at in places.items() if d in found.box})


def _masked_region(region: Region, mask: Any, a: Tile, b: Tile, shape: tuple[int, ...]) -> Region:
    """The part of the product that ``mask`` leaves."""
    if region.skip or not region.rank:
        return region
    if region.residual:
        raise NotModelled("a mask that ties several dimensions on nc_matmul")
    box = {}
    for d, interval in region.box.items():
        axes = frozenset[int]().union(
            *(c.difference.axes[d - region.rank] for c in mask.comparisons if _has(c, d, region))
        )
        stationary, moving = bool(axes & _free_axes(a)), bool(axes & _free_axes(b))
        if stationary and not moving:
            at = 0
        elif moving and not stationary:
            at = d if d > 0 else len(shape) - 1
        else:
            at = d
        at = at if at < len(shape) else -1
        if at < 0 or interval.extent not in (shape[at], 1):
            raise NotModelled(f"a mask of nc_matmul over {interval.extent} elements on a result of shape {list(shape)}")
        box[at] = interval
    return Region(len(shape), box)


def _has(comparison: Any, d: int, region: Region) -> bool:
    return bool(comparison.difference.ndim >= region.rank - d)


def _free_axes(tile: Tile) -> frozenset[int]:
    """The index vectors that vary along the free dimensions of the operand's subscript."""
    return frozenset[int]().union(*tile.axes[1:]) if tile.axes else frozenset()


def _operands(a: Tile, b: Tile, region: Region) -> tuple[View, View]:
    """The operands, cut to the rows and columns of the product that ``region`` leaves.

    An operand mask over the partitions cuts the contraction, and so both operands: what the other one has there may be
    anything. (Products do not depend on each other, and zeros add nothing: cutting changes no bit of the rest.)
    """
    if not region.box and a.restriction is None and b.restriction is None:
        return a.view_in(EVERYWHERE), b.view_in(EVERYWHERE)
    rows, columns = region.box.get(0), {d: i for d, i in region.box.items() if d > 0}
    left, right = Region(a.ndim, {} if rows is None or a.ndim > 2 else {1: rows}), Region(b.ndim, columns)
    contracted = _contraction(a, b)
    left = both(left, Region(a.ndim, contracted.box))
    right = both(right, Region(b.ndim, contracted.box))
    if rows is not None and a.ndim > 2:
        raise NotModelled("a mask of nc_matmul over the rows of a product whose stationary has several free dimensions")
    return _contributing(a, left), _contributing(b, right)


def _contributing(tile: Tile, cut: Region = EVERYWHERE) -> View:
    """The part ``cut`` of an operand, with zeros outside of its operand mask."""
    restriction = tile.restriction
    if restriction is None or _is_cut_by(restriction, tile, cut):
        return tile.view_in(cut)
    outer = [cut.interval(d, tile.ndim, n) for d, n in enumerate(tile.shape)]
    spans = [(0, n) if i is None else (i.low, i.high) for i, n in zip(outer, tile.shape, strict=True)]
    values = np.zeros([high - low for low, high in spans], tile.stored)
    if restriction.skip or cut.skip:
        return Computed(tile.alloc, values, _place(tile, values), used=False)
    inner = both(cut, _of_rank(restriction, tile.ndim))
    if not inner.skip:
        inside = tile.view_in(inner).array
        taken = [inner.interval(d, tile.ndim, n) for d, n in enumerate(tile.shape)]
        box = tuple(
            slice(None) if i is None else slice(i.low - low, i.high - low)
            for i, (low, _) in zip(taken, spans, strict=True)
        )
        chosen = inner.where(inside.shape)
        values[box] = inside if chosen is None else np.where(chosen, inside, values[box])
    return Computed(tile.alloc, values, _place(tile, values), used=not inner.skip)


def _place(tile: Tile, values: Array) -> Array:
    """All of an operand in memory; ``values`` where no view is."""
    return values if type(tile) is Access else tile.array


def _is_cut_by(restriction: Region, tile: Tile, cut: Region) -> bool:
    """Is all that a cut leaves of an operand under its mask?"""
    if restriction.skip or restriction.residual or cut.skip:
        return False
    return both(cut, _of_rank(restriction, tile.ndim)).box == cut.box


def _of_rank(region: Region, ndim: int) -> Region:
    """``region`` counted in the ``ndim`` dimensions of an operand."""
    if region.rank == ndim or region.residual:
        return region
    places = {d: region.mask_dimension(d, ndim) for d in range(ndim)}
    return Region(ndim, {d: region.box[at] for d, at in places.items() if at in region.box}, (), region.skip)


def _double_row(call: Call, a: Tile, b: Tile, perf_mode: str) -> Tile:
    if "double_row" not in perf_mode:
        raise NotModelled(f"nc_matmul with perf_mode={perf_mode!r}")
    if a.ndim != 3 or b.ndim != 3 or a.shape[1] != 2 or b.shape[1] != 2:
        raise KernelError(
            "", f"double row matmul takes (K, 2, M) and (K, 2, N), got {list(a.shape)} and {list(b.shape)}"
        )
    for role, tile in (("stationary", a), ("moving", b)):
        if tile.dtype.name not in DOUBLE_FP8:
            wanted = " or ".join(DOUBLE_FP8)
            raise KernelError("", f"nc_matmul: with {perf_mode} {role} must be {wanted}, not {tile.dtype.name}")
    shape = (a.shape[2], b.shape[2])
    if call.region.rank or call.region.skip:
        raise NotModelled("a mask on a double row matmul")
    views = [(_contributing(a[:, row, :]), _contributing(b[:, row, :])) for row in range(2)]
    first, second = (isa.matmul(left, right) for left, right in views)
    result = result_of(
        "nc_matmul",
        first.values + second.values,
        (("stationary", _contributing(a)), ("moving", _contributing(b))),
        (("perf_mode", "double_row"),),
        accumulates=True,
    )
    return call.give(result, shape, FLOAT32, buffer=PSUM)


def matmul(x: Any, y: Any, *, transpose_x: bool = False, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    """``x @ y`` (``transpose_x``: ``x.T @ y``, the layout that TensorE wants) in fp32 in PSUM."""
    call = call_of("matmul", mask)
    a, b = (call.tile(role, in_sbuf(call, operand)) for role, operand in (("x", x), ("y", y)))
    if a.ndim != 2 or b.ndim != 2:
        raise KernelError(
            "err_exceed_max_supported_dimension",
            f"parameters x{list(a.shape)}, y{list(b.shape)} of 'matmul' exceed max supported number of "
            "dimensions of 2.",
        )
    if not transpose_x and call.state.allocated:
        raise KernelError(
            "err_transpose_on_tensor_engine_not_allowed_in_allocated_kernel",
            "nl.matmul() without transpose_x=True is not allowed in allocated NKI kernels",
        )
    contraction, rows = a.shape if transpose_x else (a.shape[1], a.shape[0])
    if contraction != b.shape[0]:
        raise KernelError("", f"nl.matmul contracts {contraction} elements of x with {b.shape[0]} of y")
    for what, size, limit in (
        ("x", rows, GEMM_STATIONARY_FMAX),
        ("y", b.shape[1], GEMM_MOVING_FMAX),
        ("contraction", contraction, GEMM_STATIONARY_FMAX),
    ):
        if size > limit:
            raise KernelError(
                "err_size_of_dimension_exceed_arch_limit",
                f"size {size} of '{what}' of 'matmul' exceed architecture limitation of {limit}.",
            )
    shape = (rows, b.shape[1])
    region = _result_region(call.region, mask, a, b, shape)
    if region.skip:
        return call.give(None, shape, FLOAT32, buffer=PSUM, where=region)
    if transpose_x:
        left, right = _operands(a, b, region)
    elif a.restriction is not None or b.restriction is not None:
        raise NotModelled("an operand mask of nl.matmul without transpose_x")
    else:
        row, columns = region.box.get(0), {d: i for d, i in region.box.items() if d > 0}
        cut = a.view_in(Region(2, {} if row is None else {0: row}))
        left, right = cut.reading(cut.array.T), b.view_in(Region(2, columns))
    result = isa.matmul(left, right)
    kind = FLOAT32 if dtype is None else dtype_of(dtype)
    return call.give(result, shape, kind, explicit=dtype is not None, buffer=PSUM, where=region)
