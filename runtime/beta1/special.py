"""Less common ``nisa`` and ``nl`` instructions: search, gather, statistics, selection, random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import isa
from ..errors import KernelError, NotModelled
from ..isa import search, statistics
from ..isa.core import Result, result_of
from ..memory import Array
from ..numerics import DTYPES, is_integer, to_float32
from .base import Tensor
from .chip import NeedsHardware
from .creation import memset
from .operands import is_vector, mismatch
from .pending import Call, call_of
from .reductions import kept_region
from .regions import Region
from .tensor import Tile
from .tokens import FP32, ReduceCmd, dtype_of, engine_of, operator_token


def _columns_only(call: Call, tile: Tile) -> Region:
    """Where a result with one row a partition is written: the partitions of the mask."""
    return kept_region(call.region, tuple(range(1, tile.ndim)), tile, False)


def _give(
    call: Call, result: Result | None, shape: tuple[int, ...], default: Any, dtype: Any, where: Any = None
) -> Tile:
    kind = default if dtype is None else dtype_of(dtype)
    return call.give(result, shape, kind, explicit=dtype is not None, where=where)


def max8(*, src: Any, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    """The 8 largest values of each partition in descending order, as (P, 8)."""
    call = call_of("max8", mask)
    tile = call.source("src", src)
    result = None if call.region.skip else search.max8(call.view(tile))
    return _give(call, result, (tile.shape[0], search.EIGHT), tile.dtype, dtype, _columns_only(call, tile))


def nc_find_index8(*, data: Any, vals: Any, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    """Index of the first occurrence of each of 8 ``vals`` in each partition of ``data``, as (P, 8)."""
    call = call_of("nc_find_index8", mask)
    tile, wanted = call.source("data", data), call.tile("vals", vals)
    where = _columns_only(call, tile)
    result = None if call.region.skip else search.find_index8(call.view(tile), wanted.view_in(where))
    return _give(call, result, (tile.shape[0], search.EIGHT), DTYPES["uint32"], dtype, where)


def nc_match_replace8(
    *, data: Any, vals: Any, imm: Any, dst_idx: Any = None, mask: Any = None, dtype: Any = None, **_: Any
) -> Tile:
    """``data`` with an occurrence of each of 8 ``vals`` replaced by ``imm``; ``dst_idx`` receives their indices.

    Behind a mask that cuts the free dimensions, indices count the elements under the mask.
    """
    call = call_of("nc_match_replace8", mask)
    tile, wanted = call.source("data", data), call.tile("vals", vals)
    if call.region.skip:
        return _give(call, None, tile.shape, tile.dtype, dtype)
    where = _columns_only(call, tile)
    result, indices = search.match_replace8(call.view(tile), wanted.view_in(where), float(imm))
    if isinstance(dst_idx, Tensor):
        call.second("dst_idx", indices, dst_idx, result)
    return _give(call, result, tile.shape, tile.dtype, dtype)


def gather_flattened(data: Any, indices: Any, *, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    """``data`` at ``indices`` of its flattened free dimensions, partition by partition."""
    call = call_of("gather_flattened", mask)
    tile, wanted = call.tile("data", data), call.source("indices", indices)
    result = None
    if not call.region.skip:
        partitions = Region(call.region.rank, {d: i for d, i in call.region.box.items() if d == 0})
        result = search.gather_flattened(tile.view_in(partitions), call.view(wanted))
    return _give(call, result, wanted.shape, tile.dtype, dtype)


def local_gather(
    src_buffer: Any, index: Any, num_elem_per_idx: int = 1, num_valid_indices: Any = None, *, mask: Any = None, **_: Any
) -> Tile:
    """Gather in each group of 16 partitions by that group's indices; the result is (P, indices, elements)."""
    call = call_of("local_gather", mask)
    tile, wanted = call.tile("src_buffer", src_buffer), call.tile("index", index)
    if tile.shape[0] != wanted.shape[0] or tile.shape[0] % search.CORE_PARTITIONS:
        raise mismatch(call.op, ("src_buffer", tile), ("index", wanted))
    if wanted.dtype != DTYPES["uint16"]:
        raise KernelError("", f"index of 'local_gather' must be uint16, got {wanted.dtype}")
    if call.region.rank or call.region.skip:
        raise NotModelled("a mask on nisa.local_gather")
    count = None if num_valid_indices is None else int(num_valid_indices)
    result = search.local_gather(call.view(tile), call.view(wanted), int(num_elem_per_idx), count)
    columns = wanted.shape[1] if wanted.ndim == 2 else wanted.shape_2d[1]
    shape: tuple[int, ...] = result.values.shape
    if shape[1] == columns * search.CORE_PARTITIONS:
        shape = (shape[0], columns, search.CORE_PARTITIONS, shape[2])
    result.values = result.values.reshape(shape)
    return call.give(result, shape, tile.dtype)


def sequence_bounds(*, segment_ids: Any, dtype: Any = None, **_: Any) -> Tile:
    """Start and end of the segment of each element: (1, n) gives (1, 2, n)."""
    call = call_of("sequence_bounds")
    tile = call.tile("segment_ids", segment_ids)
    result = search.sequence_bounds(call.view(tile))
    return _give(call, result, result.values.shape, tile.dtype, dtype)


def bn_stats(data: Any, *, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    """(P, F <= 512) to (P, 6): count, mean, variance * count of the even, then of the odd elements."""
    call = call_of("bn_stats", mask)
    tile = call.source("data", data)
    result = None if call.region.skip else statistics.bn_stats(call.view(tile))
    return _give(call, result, (tile.shape[0], 6), tile.dtype, dtype, _columns_only(call, tile))


def bn_aggr(data: Any, *, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    """(P, 3k) of :func:`bn_stats` to (P, 2): mean and population variance."""
    call = call_of("bn_aggr", mask)
    tile = call.source("data", data)
    result = None if call.region.skip else statistics.bn_aggr(call.view(tile))
    return _give(call, result, (tile.shape[0], 2), tile.dtype, dtype, _columns_only(call, tile))


# --- selection with a running maximum --------------------------------------------------------------------------------


def range_select(
    *,
    on_true_tile: Any,
    comp_op0: Any,
    comp_op1: Any,
    bound0: Any,
    bound1: Any,
    reduce_cmd: Any = ReduceCmd.idle,
    reduce_res: Any = None,
    reduce_op: Any = np.amax,
    range_start: Any = 0,
    on_false_value: Any = FP32.min,
    mask: Any = None,
    dtype: Any = None,
    **_: Any,
) -> Tile:
    """``on_true_tile`` where ``range_start`` plus the free index meets both bounds (P, 1), else ``on_false_value``."""
    call = call_of("range_select", mask)
    if call.state.machine.target.version < 3:
        raise KernelError("", "nisa.range_select needs NeuronCore-v3 (gen3) or later")
    tile = call.source("on_true_tile", on_true_tile)
    limits = (call.tile("bound0", bound0), call.tile("bound1", bound1))
    for role, limit in zip(("bound0", "bound1"), limits, strict=True):
        if limit.shape[0] != tile.shape[0]:
            raise mismatch(call.op, ("on_true_tile", tile), (role, limit))
        if not is_vector(limit):
            raise KernelError("", f"'{role}' of 'range_select' must have one element a partition, got {limit!r}")
    if call.region.skip:
        return _give(call, None, tile.shape, tile.dtype, dtype)
    ops = (operator_token(comp_op0), operator_token(comp_op1))
    bounds = (call.view(limits[0]), call.view(limits[1]))
    result = search.range_select(call.view(tile), ops, bounds, float(range_start), float(on_false_value))
    _running_maximum(call, ReduceCmd(int(reduce_cmd)), reduce_op, result, reduce_res)
    return _give(call, result, tile.shape, tile.dtype, dtype)


def select_reduce(
    *,
    dst: Any,
    predicate: Any,
    on_true: Any,
    on_false: Any,
    reduce_res: Any = None,
    reduce_cmd: Any = ReduceCmd.idle,
    reduce_op: Any = np.amax,
    reverse_pred: bool = False,
    mask: Any = None,
    dtype: Any = None,
    **_: Any,
) -> None:
    """``dst`` = ``on_true`` where ``predicate``, else ``on_false`` (number or (P, 1)); with a running maximum."""
    call = call_of("select_reduce", mask)
    target = call.tile("dst", dst)
    chooser, chosen = call.source("predicate", predicate), call.source("on_true", on_true)
    if chooser.shape[0] != chosen.shape[0]:
        raise mismatch(call.op, ("predicate", chooser), ("on_true", chosen))
    if call.region.skip:
        return
    result = isa.select("select_reduce", call.view(chooser), call.view(chosen), call.operand("on_false", on_false))
    if reverse_pred:
        other = to_float32(call.view(chosen).array)
        kept = call.view(chooser).array != 0
        filler = call.operand("on_false", on_false)
        result.values = np.where(kept, _repeated(filler, other), other)
        result.attributes = (*result.attributes, ("reverse_pred", True))
    _running_maximum(call, ReduceCmd(int(reduce_cmd)), reduce_op, result, reduce_res)
    call.write(result, target)


def _repeated(value: Any, like: Array) -> Array:
    return np.asarray(isa.elementwise.per_partition(value, like.ndim))


def _running_maximum(call: Call, command: ReduceCmd, op: Any, result: Result, reduce_res: Any) -> None:
    """The VectorE registers: ``reset`` makes them -inf, ``reduce`` takes the maximum with the result's rows."""
    if operator_token(op) != "maximum":
        raise KernelError("", f"reduce_op of '{call.op}' must be max, got {op!r}")
    rows = call.partitions(result.values.shape[0])
    registers = call.state.maxima
    if command in (ReduceCmd.reset, ReduceCmd.reset_reduce):
        registers[rows] = -np.inf
    if command in (ReduceCmd.reduce, ReduceCmd.reset_reduce):
        chosen = call.region.where(result.values.shape)
        values = result.values if chosen is None else np.where(chosen, result.values, np.float32(-np.inf))
        registers[rows] = np.maximum(registers[rows], search.rows(values).max(axis=1))
    if command != ReduceCmd.idle:
        result.attributes = (*result.attributes, ("reduce_cmd", command.name))
    if isinstance(reduce_res, Tensor):
        call.second("reduce_res", registers[rows, None].copy(), reduce_res, result)


# --- copies at run time offsets --------------------------------------------------------------------------------------


def tensor_copy_dynamic_src(src: Any, *, mask: Any = None, dtype: Any = None, engine: Any = None, **_: Any) -> Tile:
    """Copy a tile whose subscript has an offset that is known at run time."""
    call = call_of("tensor_copy_dynamic_src", mask)
    if engine is not None:
        call.told(engine=engine_of(engine))
    tile = call.source("src", src)
    result = None if call.region.skip else isa.copy("tensor_copy", call.view(tile))
    return _give(call, result, tile.shape, tile.dtype, dtype)


def tensor_copy_dynamic_dst(
    *, dst: Any, src: Any, mask: Any = None, dtype: Any = None, engine: Any = None, **_: Any
) -> None:
    """Copy to a tile whose subscript has an offset that is known at run time."""
    call = call_of("tensor_copy_dynamic_dst", mask)
    if engine is not None:
        call.told(engine=engine_of(engine))
    target, tile = call.tile("dst", dst), call.source("src", src)
    if not call.region.skip:
        call.write(isa.copy("tensor_copy", call.view(tile)), target)


# --- random numbers --------------------------------------------------------------------------------------------------


def rand(shape: Any, dtype: Any = np.float32, **_: Any) -> Tile:
    """A tile of uniform random numbers in [0, 1). The bits are the emulator's, not the hardware's."""
    call = call_of("rand")
    wanted = tuple(int(n) for n in shape)
    values = call.state.random.random(wanted, np.float32)
    return call.give(result_of("rand", values, ()), wanted, dtype_of(dtype))


def random_seed(seed: Any, *, mask: Any = None, **_: Any) -> None:
    """Start the random numbers again from ``seed``: a tile of one element, or a number, which goes into one."""
    call = call_of("random_seed", mask)
    if call.region.skip:
        return
    if not isinstance(seed, Tensor) and not call.state.allocated:
        memset((1, 1), seed, np.int32).as_tile()
    value = seed.as_tile().array.reshape(-1)[0] if isinstance(seed, Tensor) else seed
    call.state.random = np.random.default_rng(int(value) & 0xFFFFFFFF)


def dropout(data: Any, prob: Any, *, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    """``data`` with elements replaced by 0 with probability ``prob`` (number or (P, 1)); what stays is not scaled."""
    call = call_of("dropout", mask)
    tile = call.source("data", data)
    if call.region.skip:
        return _give(call, None, tile.shape, tile.dtype, dtype)
    view = call.view(tile)
    rate = call.operand("prob", prob)
    threshold = isa.elementwise.per_partition(rate, view.array.ndim)
    if not np.all((threshold >= 0) & (threshold <= 1)):
        raise NeedsHardware("dropout with a probability outside [0, 1]: only the chip's random bits tell what it does")
    draws = call.state.random.random(tile.shape, np.float32)[tuple(slice(0, n) for n in view.array.shape)]
    kept = draws >= threshold
    values = view.array if is_integer(tile.dtype) else to_float32(view.array)
    reads, attributes = isa.said(("data", view), ("prob", rate))
    result = result_of("dropout", np.where(kept, values, values.dtype.type(0)), reads, attributes)
    return _give(call, result, tile.shape, tile.dtype, dtype)


def nl_dropout(x: Any, rate: Any, *, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    """:func:`dropout` with a rate that is a number, or a tile of one element or of one for each partition of ``x``."""
    value = rate
    if isinstance(rate, Tensor) and rate.as_tile().array.size != x.shape[0]:
        value = float(rate.as_tile().array.reshape(-1)[0])
    return dropout(x, value, mask=mask, dtype=dtype)


def builtin_custom_op(*args: Any, **kwargs: Any) -> Any:
    """Custom GpSimd programs cannot run here."""
    raise NotModelled("nisa.builtin_custom_op")
