"""Moving data: ``nl.load``, ``nl.store``, DMA, copies, shuffles and transposes."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from .. import isa
from ..errors import KernelError, NotModelled
from ..isa import search
from ..memory import Array, View
from ..spec.hardware import PARTITIONS
from ..spec.instructions import VECTOR_TRANSPOSE
from .base import Shape, Tensor
from .indirect import Gathered
from .operands import mismatch
from .pending import Call, accumulate, call_of, copied_to_sbuf, in_sbuf, number
from .regions import EVERYWHERE, Interval, Region
from .tensor import Tile
from .tokens import PSUM, SBUF, Buffer, DgeMode, Engine, OobMode, dtype_of, engine_name, engine_of, operator_token

_VECTOR, _UNKNOWN, _ERROR = Engine.vector, Engine.unknown, OobMode.error
"""Asked for in each transpose, copy or load: Python 3.11 takes long to find a member in its class."""


def load(src: Any, *, mask: Any = None, dtype: Any = None, mode: Any = OobMode.error, **_: Any) -> Tile:
    """Load from HBM into a new SBUF tile, of type ``dtype`` (default: that of ``src``).

    The first dimension of ``src`` becomes the partition dimension; a tile has at least two.
    """
    call = call_of("load", mask)
    if mode is not _ERROR:
        call.told(oob_mode=OobMode(mode))
    tile = call.source("src", src, "hbm")
    if tile.gather is not None:
        tile = _indirect(tile, "load", mode)
    shape = tile.shape if len(tile.shape) >= 2 else tile_shape(tile.shape)
    if shape[0] > PARTITIONS:
        check_partitions(shape, "load")
    result = None
    if not call.region.skip:
        view = call.view(tile)
        result = isa.copy("dma_copy", view)
        if len(tile.shape) < 2:
            result.values = result.values.reshape(tile_shape(result.values.shape))
        call.region = in_bounds(call.region, view)
    return call.give(result, shape, tile.dtype if dtype is None else dtype_of(dtype), explicit=dtype is not None)


def tile_shape(shape: Shape) -> Shape:
    """``shape`` with at least the two dimensions of a tile."""
    return shape if len(shape) >= 2 else (*shape, 1) if shape else (1, 1)


def in_bounds(region: Region, source: View) -> Region:
    """``region`` without the elements that an indirect access of ``source`` skipped."""
    if not isinstance(source, Gathered) or source.valid is None:
        return region
    return replace(region, valid=source.valid.reshape(tile_shape(source.valid.shape)))


def _indirect(tile: Tile, op: str, mode: Any) -> Tile:
    """An indirect access, as ``mode`` treats what is out of bounds."""
    if tile.gather is not None and tile.gather.free:
        raise KernelError(
            "err_indirect_indices_free_dim",
            f"Dynamic indexing of '{tile.name}' in '{op}' only supports the indirect indexing to be on the partition "
            "or block dimension.",
        )
    return tile.skipping(mode)


def check_partitions(shape: Shape, op: str) -> None:
    if shape[0] > PARTITIONS:
        raise KernelError(
            "err_num_partition_exceed_arch_limit",
            f"number of partitions {shape[0]} of '{op}' exceed architecture limitation of {PARTITIONS}",
        )


def store(dst: Any, value: Any, *, mask: Any = None, mode: Any = OobMode.error, **_: Any) -> None:
    """Store ``value`` (a tile, which may broadcast, or a number) to ``dst`` in HBM, converted to its type."""
    call = call_of("store", mask)
    if mode is not _ERROR:
        call.told(oob_mode=OobMode(mode))
    target = call.tile("dst", dst, "hbm")
    if target.gather is not None:
        target = _indirect(target, "store", mode)
    if isinstance(value, Tensor):
        source = call.source("value", value)
        if target.shape != source.shape:
            check_stored(target.shape, source.shape)
        if source.space == "psum" and not call.region.skip and not call.state.allocated:
            source = copied_to_sbuf(call, source)  # no DMA reads PSUM
        if not call.region.skip:
            call.write(isa.copy("dma_copy", call.view(source)), target)
    elif not call.region.skip:
        _store_number(call, target, number(value, "value", "store"))


def _store_number(call: Call, target: Tile, value: Any) -> None:
    """A number stored to HBM: a DMA can only copy, so a tile is filled with it first, where there may be one."""
    if call.state.allocated or target.ndim < 2 or target.shape[0] > PARTITIONS:
        left = call.view(target).array.shape  # of what a mask leaves
        call.write(isa.memset(left, value, target.dtype), target)
        return
    fill = call_of("memset")
    source = fill.give(isa.memset(target.shape, value, target.dtype), target.shape, target.dtype).settled()
    call.reserve()
    call.write(isa.copy("dma_copy", call.view(source)), target)


def check_stored(dst: Shape, src: Shape) -> None:
    """``src`` must have the shape of ``dst`` up to extents of 1, or broadcast to it."""
    if [n for n in dst if n != 1] == [n for n in src if n != 1]:
        return
    pairs = list(zip(reversed(dst), reversed(src), strict=False))
    if len([n for n in src if n != 1]) > len(dst) or any(n not in (1, m) for m, n in pairs):
        raise KernelError(
            "err_store_dst_shape_smaller_than_other_shape",
            f"Illegal assignment destination shape: shape {list(dst)} of parameter 'dst' is smaller than other "
            f"parameter shapes value{list(src)}.",
        )


def copy(src: Any, *, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    """Copy a tile into a new SBUF tile (``nl.copy``, ``nisa.tensor_copy``)."""
    return copied(call_of("tensor_copy", mask), src, SBUF, dtype)


def copied(call: Call, src: Any, buffer: Buffer, dtype: Any = None, engine: Any = Engine.unknown) -> Tile:
    """Copy a tile into a new one in SBUF or PSUM."""
    tile = call.source("src", src)
    result = None
    if not call.region.skip:
        result = isa.copy("tensor_copy", call.view(tile))
        result.engine = engine_name(engine)
    wanted = tile.dtype if dtype is None else dtype_of(dtype)
    return call.give(result, tile.shape, wanted, explicit=dtype is not None, buffer=buffer)


def tensor_copy(src: Any, *, mask: Any = None, dtype: Any = None, engine: Any = Engine.unknown, **_: Any) -> Tile:
    """Copy a tile into a new SBUF tile; bits are kept where the types are equal."""
    call = call_of("tensor_copy", mask)
    if engine is not _UNKNOWN:
        call.told(engine=engine_of(engine))
    return copied(call, src, SBUF, dtype, engine)


def dma_copy(
    *,
    dst: Any,
    src: Any,
    mask: Any = None,
    dst_rmw_op: Any = None,
    oob_mode: Any = OobMode.error,
    dge_mode: Any = None,
    **_: Any,
) -> None:
    """Copy between HBM and SBUF by DMA, with a cast where the types differ.

    ``dst_rmw_op=np.add`` adds to ``dst``. With ``oob_mode.skip``, rows of an indirect access that are out of bounds are
    left alone; negative indices are out of bounds.
    """
    call = call_of("dma_copy", mask)
    if oob_mode is not _ERROR or dge_mode is not None:
        call.told(oob_mode=OobMode(oob_mode), dge_mode=None if dge_mode is None else DgeMode(dge_mode))
    target = call.tile("dst", dst, "hbm|sbuf").skipping(oob_mode)
    source = call.source("src", src, "hbm|sbuf").skipping(oob_mode)
    if call.region.skip:
        return
    view = call.view(source)
    result = isa.copy("dma_copy", view)
    call.region = in_bounds(call.region, view)
    if dst_rmw_op is not None:
        op = operator_token(dst_rmw_op)
        if op != "add":
            raise KernelError("", f"dst_rmw_op must be np.add, got '{op}'")
        result.attributes = (*result.attributes, ("dst_rmw_op", op))
        accumulate(call, result, target)
        return
    call.write(result, target)


def load_transpose2d(src: Any, *, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    """Load (N, M) from HBM and transpose it to (M, N); ``mask`` is in the index space of ``src``."""
    call = call_of("load_transpose2d", mask)
    return _transposed(call, call.source("src", src, "hbm"), (1, 0), dtype)


def dma_transpose(src: Any, *, axes: Any = None, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    """Transpose by DMA: (1, 0), (2, 1, 0) or (3, 1, 2, 0) by rank."""
    call = call_of("dma_transpose", mask)
    tile = call.source("src", src, "hbm|sbuf")
    legal = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}.get(tile.ndim)
    if legal is None or (axes is not None and tuple(axes) != legal):
        raise KernelError("", f"dma_transpose of {tile.ndim} dimensions permutes them by {legal}, got {axes}")
    return _transposed(call, tile, legal, dtype)


def _transposed(call: Call, tile: Tile, axes: tuple[int, ...], dtype: Any) -> Tile:
    if tile.gather is not None:
        raise KernelError(
            "err_indirect_indices_are_not_supported_with_nki_api",
            f"indirect indices are not supported in parameter 'src' of '{call.op}'",
        )
    if tile.ndim != len(axes):
        raise KernelError(
            "err_exceed_max_supported_dimension",
            f"parameter 'src[{', '.join(map(str, tile.shape))}]' of '{call.op}' exceed max supported number of "
            f"dimensions of {len(axes)}.",
        )
    shape = tuple(tile.shape[a] for a in axes)
    check_partitions(shape, call.op)
    result = None
    if not call.region.skip and call.op == "load_transpose2d":  # a DMA that walks the source by columns
        source = call.view(tile)
        result = isa.copy("dma_copy", source.reading(source.array.transpose(axes)))
    elif not call.region.skip:
        result = isa.copy("dma_transpose", call.view(tile))
        result.values = result.values.transpose(axes)
    where = permuted(call.region, tile.ndim, axes)
    default = tile.dtype if dtype is None else dtype_of(dtype)
    keeps = call.op == "dma_transpose"  # the type: what is of another one is converted behind it
    return call.give(result, shape, default, explicit=keeps or dtype is not None, where=where)


def permuted(region: Region, ndim: int, axes: tuple[int, ...]) -> Region:
    """The region of a transposed result: ``axes`` gives the source dimension of each result dimension."""
    if not region.box and not region.residual:
        return region
    box: dict[int, Interval] = {}
    for new, old in enumerate(axes):
        at = region.mask_dimension(old, ndim)
        if at in region.box:
            box[new] = region.box[at]
    if region.residual:
        raise NotModelled("a mask that ties several dimensions on a transpose")
    return Region(ndim, box, (), region.skip)


def nc_transpose(data: Any, *, mask: Any = None, dtype: Any = None, engine: Any = Engine.unknown, **_: Any) -> Tile:
    """(P, F...) to (F, P): by TensorE into PSUM (up to 128 x 128), by VectorE into SBUF (up to 32 x 32)."""
    call = call_of("nc_transpose", mask)
    if engine is not _UNKNOWN:
        call.told(engine=engine_of(engine))
    tile = call.source("data", data)
    rows, columns = tile.shape_2d
    by_vector = engine == _VECTOR
    by_tensor = engine_name(engine) == "tensor" or max(rows, columns) > VECTOR_TRANSPOSE
    if not by_vector and not call.region.skip:
        tile = in_sbuf(call, tile)
    if by_vector and max(rows, columns) > 32:
        raise KernelError(
            "err_size_of_dimension_exceed_arch_limit",
            f"size of 'data{list(tile.shape)}' of 'nc_transpose' exceed Vector Engine limitation of 32",
        )
    if not by_vector and call.state.allocated:
        raise KernelError(
            "err_transpose_on_tensor_engine_not_allowed_in_allocated_kernel",
            "nisa.nc_transpose() on Tensor Engine is not allowed in allocated NKI kernels",
        )
    flat = tile if tile.ndim == 2 else None
    region = call.region
    result = None
    if not call.region.skip:
        result = isa.transpose(call.view(tile))
        result.engine = "vector" if by_vector else "tensor" if by_tensor else ""
    if (
        flat is None
        and region.box
        and any(region.mask_dimension(d, tile.ndim) in region.box for d in range(1, tile.ndim))
    ):
        raise NotModelled("a mask over one of several free dimensions of nc_transpose")
    where = permuted(region, 2, (1, 0)) if flat is not None else _partition_only(region)
    default = tile.dtype if dtype is None else dtype_of(dtype)
    buffer = SBUF if by_vector else PSUM
    # it keeps the type: what is of another one is converted behind it
    return call.give(result, (columns, rows), default, explicit=True, buffer=buffer, where=where)


def _partition_only(region: Region) -> Region:
    return Region(2, {1: region.box[0]} if 0 in region.box else {}, (), region.skip)


def transpose(x: Any, *, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    """Transpose a tile of up to 128 x 128 (``nl.transpose``); the result is in SBUF."""
    call = call_of("transpose", mask)
    tile = call.source("x", x)
    if tile.ndim != 2:
        raise KernelError(
            "err_exceed_max_supported_dimension",
            f"parameter 'x{list(tile.shape)}' of 'transpose' exceed max supported number of dimensions of 2.",
        )
    if tile.shape[1] > PARTITIONS:
        raise KernelError(
            "err_size_of_dimension_exceed_arch_limit",
            f"size of dimension 1 in 'x{list(tile.shape)}' of 'transpose' exceed architecture limitation "
            f"of {PARTITIONS}.",
        )
    result = None if call.region.skip else isa.transpose(call.view(tile))
    default = tile.dtype if dtype is None else dtype_of(dtype)
    where = permuted(call.region, 2, (1, 0))
    return call.give(result, (tile.shape[1], tile.shape[0]), default, explicit=dtype is not None, where=where)


def expand_dims(data: Any, axis: int) -> Tile:
    """A dimension of extent 1 behind the last one."""
    tile = call_of("expand_dims").tile("data", data, "hbm|sbuf|psum")
    if axis not in (-1, tile.ndim):
        raise KernelError("", f"nl.expand_dims adds a dimension behind the last one only, got axis {axis}")
    return tile.expand_dims(axis)


def _spread_over(predicate: Array, shape: Shape) -> Array:
    """``predicate`` for each element of ``shape``."""
    if predicate.size == prod(shape):
        return predicate.reshape(shape)
    given = predicate.shape
    while len(given) > 1 and given[-1] == 1:
        given = given[:-1]
    if given != shape[: len(given)]:
        raise KernelError(
            "", f"'predicate' {list(predicate.shape)} and 'dst' {list(shape)} differ in elements of a partition"
        )
    return np.broadcast_to(predicate.reshape(given + (1,) * (len(shape) - len(given))), shape)


def tensor_copy_predicated(
    *, src: Any, dst: Any, predicate: Any, reverse_pred: bool = False, mask: Any = None, dtype: Any = None, **_: Any
) -> None:
    """Copy ``src`` (tile or number) to ``dst`` where ``predicate`` is not 0 (``reverse_pred``: is 0).

    ``predicate`` has as many elements a partition as ``dst``, or the first dimensions of it: then one of its elements
    counts for all that the others hold (``flash_attn_core.py:429`` and ``flash_attn_impl.py:556`` of nki-samples).
    """
    call = call_of("tensor_copy_predicated", mask)
    target, chooser = call.tile("dst", dst), call.source("predicate", predicate)
    if target.shape[0] != chooser.shape[0]:
        raise mismatch(call.op, ("dst", target), ("predicate", chooser))
    if call.region.skip:
        return
    there, condition = call.view(target), call.view(chooser)
    chosen = (_spread_over(condition.array, there.array.shape) != 0) != bool(reverse_pred)
    if isinstance(src, Tensor):
        tile = call.tile("src", src)
        if tile.dtype != target.dtype:
            raise KernelError(
                "", f"src of 'tensor_copy_predicated' is {tile.dtype}, dst is {target.dtype}: they must be equal"
            )
        result = isa.copy("tensor_copy_predicated", call.view(tile))
    else:
        result = isa.memset(there.array.shape, number(src, "src", call.op), target.dtype)
        result.op = "tensor_copy_predicated"
    result.reads = (*result.reads, ("predicate", condition))
    if reverse_pred:
        result.attributes = (*result.attributes, ("reverse_pred", True))
    within = call.region.where(chosen.shape)
    call.write(result, target, where=call.region.choosing(chosen if within is None else chosen & within))


def nc_stream_shuffle(src: Any, dst: Any, shuffle_mask: Any, *, dtype: Any = None, mask: Any = None, **_: Any) -> None:
    """In each 32 partitions, partition ``i`` of ``dst`` becomes ``shuffle_mask[i]`` of ``src`` (255: is kept)."""
    call = call_of("nc_stream_shuffle", mask)
    source, target = call.tile("src", src), call.tile("dst", dst)
    if source.dtype != target.dtype:
        raise KernelError(
            "", f"dst of 'nc_stream_shuffle' is {target.dtype}, src is {source.dtype}: they must be equal"
        )
    if call.region.skip:
        return
    before = target.array
    result, written = search.stream_shuffle(source.view_in(EVERYWHERE), before, tuple(int(m) for m in shuffle_mask))
    cuts = [call.region.interval(d, target.ndim, n) for d, n in enumerate(target.shape)]
    box = tuple(slice(None) if c is None else slice(c.low, c.high) for c in cuts)
    result.values = result.values[box]
    chosen = np.broadcast_to(written, before.shape)[box]
    within = call.region.where(chosen.shape)
    call.write(result, target, where=call.region.choosing(chosen if within is None else chosen & within))
