"""``nki.isa``: search, gather, shuffle, statistics, random numbers (2.28 signatures)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import isa
from ..errors import KernelError, NotModelled, SizesDiffer
from ..isa import search, statistics
from ..numerics import convert, is_integer, to_float32
from . import state, values
from .isa_select import needs_core
from .operands import deliver, immediate_or_column, in_sbuf, on_chip, same_extent
from .signature import builtin


@builtin("nki.isa")
def max8(dst: Any, src: Any, name: Any = None) -> None:
    """The 8 largest values of each partition, descending."""
    deliver(search.max8(on_chip(src, "src")), on_chip(dst, "dst"))


@builtin("nki.isa")
def nc_find_index8(dst: Any, data: Any, vals: Any, name: Any = None) -> None:
    """Index of the first occurrence of each of 8 ``vals`` in each partition of ``data``; all ones where none is."""
    target, source, wanted = on_chip(dst, "dst"), on_chip(data, "data"), on_chip(vals, "vals")
    if target.dtype.name not in ("uint16", "uint32"):
        raise KernelError("", f"nc_find_index8: dst must be uint16 or uint32, not {target.dtype.name}")
    _same_partitions("nc_find_index8", data=source, vals=wanted)
    deliver(search.find_index8(source, wanted), target)


@builtin("nki.isa")
def nc_match_replace8(dst: Any, data: Any, vals: Any, imm: Any, dst_idx: Any = None, name: Any = None) -> None:
    """``data`` with an occurrence of each of 8 ``vals`` replaced by ``imm``; ``dst_idx`` receives their indices."""
    target, source, wanted = on_chip(dst, "dst"), on_chip(data, "data"), on_chip(vals, "vals")
    _same_partitions("nc_match_replace8", data=source, vals=wanted)
    result, indices = search.match_replace8(source, wanted, float(values.number(imm)))
    if dst_idx is None:
        deliver(result, target)
        return
    places = on_chip(dst_idx, "dst_idx")
    same_extent("nc_match_replace8", ("dst_idx", "vals"), places, wanted)
    result.also_writes = (*result.also_writes, ("dst_idx", places))
    deliver(result, target)
    places.array[...] = convert(indices, places.dtype).reshape(places.array.shape)


@builtin("nki.isa")
def nc_n_gather(dst: Any, data: Any, indices: Any, dtype: Any = None, name: Any = None) -> None:
    """``data`` at ``indices`` of its flattened free dimensions, partition by partition (GpSimd, SBUF only)."""
    target, source = in_sbuf(dst, "dst", "nc_n_gather"), in_sbuf(data, "data", "nc_n_gather")
    wanted = in_sbuf(indices, "indices", "nc_n_gather")
    if wanted.dtype.name != "uint32":
        raise KernelError("", f"nc_n_gather: indices must be uint32, not {wanted.dtype.name}")
    if target.dtype != source.dtype or (dtype is not None and values.data_type(dtype) != source.dtype):
        raise KernelError("", f"nc_n_gather: dst must have the type of data, {source.dtype.name}")
    deliver(search.gather_flattened(source, wanted), target)


@builtin("nki.isa")
def local_gather(
    dst: Any, src_buffer: Any, index: Any, num_elem_per_idx: Any = 1, num_valid_indices: Any = None, name: Any = None
) -> None:
    """Gather in each group of 16 partitions by that group's indices (GpSimd, SBUF only)."""
    target, source = in_sbuf(dst, "dst", "local_gather"), in_sbuf(src_buffer, "src_buffer", "local_gather")
    wanted, count = in_sbuf(index, "index", "local_gather"), values.integer(num_elem_per_idx)
    if source.array.shape[0] % search.CORE_PARTITIONS:
        raise KernelError("", "local_gather: src_buffer must have a multiple of 16 partitions")
    _same_partitions("local_gather", src_buffer=source, index=wanted)
    if wanted.dtype.name != "uint16":
        raise KernelError("", f"local_gather: index must be uint16, not {wanted.dtype.name}")
    if count not in (1, 2, 4, 8, 16, 32):
        raise KernelError("", f"local_gather: num_elem_per_idx must be 1, 2, 4, 8, 16 or 32, not {count}")
    if target.dtype != source.dtype:
        raise KernelError("", f"local_gather: dst must have the type of src_buffer, {source.dtype.name}")
    used = None if num_valid_indices is None else values.natural(num_valid_indices)
    deliver(search.local_gather(source, wanted, count, used), target)


@builtin("nki.isa")
def nc_stream_shuffle(dst: Any, src: Any, shuffle_mask: Any, name: Any = None) -> None:
    """In each 32 partitions, ``dst[i]`` becomes ``src[shuffle_mask[i]]``; 255 keeps it."""
    target, source = on_chip(dst, "dst"), on_chip(src, "src")
    if target.dtype != source.dtype:
        raise KernelError("", f"nc_stream_shuffle: src is {source.dtype.name}, dst is {target.dtype.name}")
    mask = tuple(values.integer(entry) for entry in shuffle_mask)
    result, written = search.stream_shuffle(source, target.array, mask)
    deliver(result, target, where=np.broadcast_to(written, target.array.shape))


@builtin("nki.isa")
def sequence_bounds(dst: Any, segment_ids: Any, dtype: Any = None, name: Any = None) -> None:
    """Start and end of the segment of each element: (1, n) gives (1, 2, n)."""
    target, source = on_chip(dst, "dst"), on_chip(segment_ids, "segment_ids")
    for role, tensor in (("dst", target), ("segment_ids", source)):
        if tensor.dtype.name not in ("float32", "int32"):
            raise KernelError("", f"sequence_bounds: {role} must be float32 or int32, not {tensor.dtype.name}")
    deliver(search.sequence_bounds(source), target)


@builtin("nki.isa")
def nonzero_with_count(dst: Any, src: Any, index_offset: Any = 0, padding_val: Any = -1, name: Any = None) -> None:
    """Indices of the elements that are not 0, padding, and their number, on partitions 0, 16, ... (GpSimd).

    The other partitions of ``dst`` keep their values.
    """
    needs_core("nonzero_with_count", 3)
    target, source = in_sbuf(dst, "dst", "nonzero_with_count"), in_sbuf(src, "src", "nonzero_with_count")
    _same_partitions("nonzero_with_count", dst=target, src=source)
    if target.dtype.name != "int32" or source.dtype.name not in ("float32", "int32"):
        raise KernelError("", "nonzero_with_count: src must be float32 or int32, dst int32")
    flat = search.rows(source.array)
    offset, padding = values.integer(index_offset), values.integer(padding_val)
    found = np.full((flat.shape[0], flat.shape[1] + 1), padding, np.int64)
    for partition in range(0, flat.shape[0], search.CORE_PARTITIONS):
        places = np.flatnonzero(flat[partition])
        found[partition, : places.size] = places + offset
        found[partition, -1] = places.size
    result = isa.result_of(
        "nonzero_with_count", found, (("src", source),), (("index_offset", offset), ("padding_val", padding))
    )
    active = np.arange(flat.shape[0]) % search.CORE_PARTITIONS == 0
    where = np.repeat(active[:, None], found.shape[1], axis=1)
    deliver(result, target, where=where)


def _same_partitions(instruction: str, **tiles: Any) -> None:
    counts = {role: tensor.array.shape[0] for role, tensor in tiles.items()}
    if len(set(counts.values())) != 1:
        described = ", ".join(f"{role} {count}" for role, count in counts.items())
        raise SizesDiffer("", f"{instruction}: the numbers of partitions must be equal: {described}")


# --- statistics ------------------------------------------------------------------------------------------------------


@builtin("nki.isa")
def bn_stats(dst: Any, data: Any, name: Any = None) -> None:
    """Count, mean and variance * count of the even, then of the odd elements of each partition."""
    deliver(statistics.bn_stats(on_chip(data, "data")), on_chip(dst, "dst"))


@builtin("nki.isa")
def bn_aggr(dst: Any, data: Any, name: Any = None) -> None:
    """Mean and population variance from the triples of :func:`bn_stats`."""
    deliver(statistics.bn_aggr(on_chip(data, "data")), on_chip(dst, "dst"))


# --- random numbers: the emulator's bits, not the hardware's ---------------------------------------------------------


@builtin("nki.isa")
def set_rng_seed(src_seeds: Any, name: Any = None) -> None:
    """Start the random numbers again from the one element of ``src_seeds``."""
    seed = on_chip(src_seeds, "src_seeds").array
    if seed.size != 1 or seed.dtype.itemsize != 4:
        raise KernelError("", f"set_rng_seed: src_seeds must be one 32-bit element, it has shape {seed.shape}")
    state.current().random = np.random.default_rng(int(seed.reshape(-1).view(np.uint32)[0]))


@builtin("nki.isa")
def rng(dst: Any, engine: Any = values.Engine.unknown, name: Any = None) -> None:
    """Fill an integer tensor with random bits."""
    values.engine(engine)
    target = on_chip(dst, "dst")
    if not is_integer(target.dtype):
        raise KernelError("", f"rng: dst must be an integer tensor, not {target.dtype.name}")
    bits = state.current().random.integers(0, 2**32, target.array.shape, np.uint32)
    deliver(isa.result_of("rng", bits.astype(target.dtype), ()), target)


@builtin("nki.isa")
def rand2(dst: Any, min: Any, max: Any, name: Any = None) -> None:
    """Fill a tensor with uniform random numbers in [min, max] (NeuronCore-v4)."""
    needs_core("rand2", 4)
    target = on_chip(dst, "dst")
    bounds = [(role, immediate_or_column(bound, target, role)) for role, bound in (("min", min), ("max", max))]
    low, high = (isa.elementwise.per_partition(bound, target.array.ndim) for _, bound in bounds)
    uniform = state.current().random.random(target.array.shape, np.float32)
    deliver(isa.result_of("rand2", low + uniform * (high - low), *isa.said(*bounds)), target)


@builtin("nki.isa")
def dropout(dst: Any, data: Any, prob: Any, name: Any = None) -> None:
    """``data`` with elements replaced by 0 with probability ``prob`` (number or (P, 1)); what stays is not scaled."""
    target, source = on_chip(dst, "dst"), on_chip(data, "data")
    same_extent("dropout", ("dst", "data"), target, source)
    said = immediate_or_column(prob, source, "prob")
    rate = isa.elementwise.per_partition(said, source.array.ndim)
    reads, attributes = isa.said(("data", source), ("prob", said))
    kept = state.current().random.random(source.array.shape, np.float32) >= rate
    elements = source.array if is_integer(source.dtype) else to_float32(source.array)
    deliver(isa.result_of("dropout", np.where(kept, elements, elements.dtype.type(0)), reads, attributes), target)


# --- what is not modelled --------------------------------------------------------------------------------------------


def _unmodelled(name: str, why: str) -> Any:
    def refuse(**arguments: Any) -> None:
        raise NotModelled(f"nki.isa.{name}: {why}")

    refuse.__name__ = name
    return builtin("nki.isa")(refuse)


UNMODELLED = {
    name: _unmodelled(name, why)
    for names, why in (
        ("rand_get_state rand_set_state", "the state of the hardware's generators"),
        ("extended_inst", "an instruction without public documentation"),
        ("activate2 topk", "an instruction of NeuronCore-v4 that the emulator does not execute"),
        ("send recv sendrecv_compute rank_id", "communication beyond two cores"),
        (
            "all_gather all_reduce all_to_all reduce_scatter collective_permute collective_permute_implicit "
            "collective_permute_implicit_reduce collective_permute_implicit_current_processing_rank_id",
            "collectives need several devices, the emulator runs one",
        ),
    )
    for name in names.split()
}
"""Names that the front end knows and the emulator does not execute."""
