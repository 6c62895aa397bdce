"""Instructions that look for values or pick them: max8, match, find, gather, shuffle, segment bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import KernelError
from ..memory import Array, View
from ..numerics import to_float32
from .core import Result, result_of

EIGHT = 8
ABSENT = 0xFFFFFFFF
"""Index of a value that does not occur."""
QUADRANT = 32
UNMODIFIED = 255
CORE_PARTITIONS = 16
"""Partitions that one GpSimd core is connected to."""


def rows(array: Array) -> Array:
    """(P, F...) as (P, F)."""
    return array.reshape(array.shape[0], -1)


def _eight(role: str, values: View) -> Array:
    flat = rows(to_float32(values.array))
    if flat.shape[1] != EIGHT:
        raise KernelError("", f"'{role}' must have {EIGHT} elements a partition, got {flat.shape[1]}")
    return flat


def max8(src: View) -> Result:
    """The 8 largest values of each partition, descending, as (P, 8)."""
    flat = rows(to_float32(src.array))
    if not EIGHT <= flat.shape[1] <= 16384:
        raise KernelError("", f"max8 takes 8 to 16384 elements a partition, got {flat.shape[1]}")
    return result_of("max8", -np.sort(-flat, axis=1)[:, :EIGHT], (("src", src),))


def occurrences(data: Array, values: Array) -> Array:
    """Flat index in each row of ``data`` of each of its 8 ``values``: repeated values match successive occurrences."""
    found = np.full(values.shape, ABSENT, np.int64)
    for row, (elements, wanted) in enumerate(zip(data, values, strict=True)):
        taken = np.zeros(elements.shape, np.bool_)
        for k, value in enumerate(wanted):
            hits = np.flatnonzero((elements == value) & ~taken)
            if hits.size:
                found[row, k] = hits[0]
                taken[hits[0]] = True
    return found


def first_occurrences(data: Array, values: Array) -> Array:
    """Flat index in each row of ``data`` of the first element that equals each of its 8 ``values``."""
    equal = data[:, None, :] == values[:, :, None]
    return np.where(equal.any(axis=2), equal.argmax(axis=2), ABSENT)


def find_index8(data: View, values: View) -> Result:
    """Flat index in each partition of ``data`` of the first occurrence of each of 8 ``values``, as (P, 8).

    A value that is asked for twice has one index twice: "the indices of the first occurrence of each value"
    (``nc_find_index8``, NKI 2.26.1 and 2.28.0; ``nc_match_replace8`` is the one that replaces as it goes).
    """
    found = first_occurrences(rows(to_float32(data.array)), _eight("vals", values))
    return result_of("nc_find_index8", found, (("data", data), ("vals", values)))


def match_replace8(data: View, values: View, replacement: float) -> tuple[Result, Array]:
    """``data`` with an occurrence of each of 8 ``values`` replaced, and the flat indices of what was replaced."""
    flat = rows(to_float32(data.array))
    found = occurrences(flat, _eight("vals", values))
    replaced = flat.copy()
    row, column = np.nonzero(found != ABSENT)
    replaced[row, found[row, column]] = np.float32(replacement)
    reads = (("data", data), ("vals", values))
    result = result_of("nc_match_replace8", replaced.reshape(data.array.shape), reads, (("imm", float(replacement)),))
    return result, found


def gather_flattened(data: View, indices: View) -> Result:
    """``data`` at flat free ``indices``, partition by partition, in the shape of ``indices``; raw bits."""
    flat, wanted = rows(data.array), rows(indices.array).astype(np.int64)
    if flat.shape[0] != wanted.shape[0]:
        raise KernelError("", f"data has {flat.shape[0]} partitions, indices {wanted.shape[0]}")
    if wanted.size and (wanted.min() < 0 or wanted.max() >= flat.shape[1]):
        raise KernelError("err_tensor_access_out_of_bound", f"an index of the gather is not in [0, {flat.shape[1]})")
    picked = np.take_along_axis(flat, wanted, axis=1).reshape(indices.array.shape)
    return result_of("gather", picked, (("data", data), ("indices", indices)))


def local_gather(source: View, indices: View, elements: int, count: int | None) -> Result:
    """Gather by GpSimd cores: each reads its 16 partitions of ``indices`` column by column.

    Every index is an element offset in a partition of ``source`` and picks ``elements`` consecutive ones; ``count``
    (default: all) indices of a core are used. The result is (P, count, elements).
    """
    flat, wanted = rows(source.array), rows(indices.array).astype(np.int64)
    partitions = flat.shape[0]
    used = wanted.shape[1] * CORE_PARTITIONS if count is None else count
    picked = np.empty((partitions, used, elements), flat.dtype)
    for start in range(0, partitions, CORE_PARTITIONS):
        core = slice(start, start + CORE_PARTITIONS)
        offsets = wanted[core].flatten(order="F")[:used]
        if offsets.size < used:
            raise KernelError("", f"num_valid_indices is {used}, a core has {offsets.size} indices")
        places = offsets[:, None] + np.arange(elements)
        if places.size and (places.min() < 0 or places.max() >= flat.shape[1]):
            raise KernelError(
                "err_tensor_access_out_of_bound", f"an index of the gather is not in [0, {flat.shape[1]})"
            )
        picked[core] = flat[core][:, places]
    attributes = (("num_elem_per_idx", elements), ("num_valid_indices", used))
    return result_of("local_gather", picked, (("src_buffer", source), ("index", indices)), attributes)


def stream_shuffle(src: View, dst: Array, mask: tuple[int, ...]) -> tuple[Result, Array]:
    """In each quadrant of 32 partitions, partition ``i`` of the result is partition ``mask[i]`` of ``src``.

    Returns the result, of the shape of ``dst``, and which of its partitions are written (255 leaves one as it is).
    """
    if len(mask) != QUADRANT or any(not (0 <= m < QUADRANT or m == UNMODIFIED) for m in mask):
        raise KernelError(
            "", f"shuffle_mask must be {QUADRANT} partitions of a quadrant, or {UNMODIFIED}, got {list(mask)}"
        )
    source, target = rows(src.array), rows(dst)
    if source.shape[1] != target.shape[1]:
        raise KernelError("", f"src has {source.shape[1]} elements a partition, dst {target.shape[1]}")
    values = target.copy()
    written = np.zeros(target.shape[0], np.bool_)
    for partition in range(target.shape[0]):
        picked = mask[partition % QUADRANT]
        at = partition - partition % QUADRANT + picked
        if picked == UNMODIFIED:
            continue
        if at >= source.shape[0]:
            raise KernelError(
                "", f"partition {partition} of dst takes partition {at} of src, which has {source.shape[0]}"
            )
        values[partition], written[partition] = source[at], True
    result = result_of("nc_stream_shuffle", values.reshape(dst.shape), (("src", src),), (("shuffle_mask", mask),))
    return result, written.reshape(-1, *[1] * (dst.ndim - 1))


def sequence_bounds(segments: View) -> Result:
    """Start and end of the segment that each element belongs to: (1, n) to (1, 2, n); padding (id 0) gives n and -1."""
    flat = segments.array.reshape(-1)
    n = flat.size
    if segments.array.shape[0] != 1:
        raise KernelError("", f"segment_ids must have one partition, got {segments.array.shape[0]}")
    starts, ends = np.empty(n, np.int64), np.empty(n, np.int64)
    for i in range(n):
        follows = i > 0 and flat[i] == flat[i - 1]
        starts[i] = n if flat[i] == 0 else starts[i - 1] if follows else i
    for i in range(n - 1, -1, -1):
        precedes = i < n - 1 and flat[i] == flat[i + 1]
        ends[i] = -1 if flat[i] == 0 else ends[i + 1] if precedes else i + 1
    return result_of("sequence_bounds", np.stack([starts, ends])[None], (("segment_ids", segments),))


_COMPARE = {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
}


def range_select(
    on_true: View, ops: tuple[str, str], bounds: tuple[View, View], start: float, on_false: float
) -> Result:
    """``on_true`` where ``start`` plus the flat free index meets both ``bounds`` (P, 1), else ``on_false``; in fp32."""
    for op in ops:
        if op not in _COMPARE or op == "not_equal":
            raise KernelError("", f"'{op}' is not a comparison of range_select")
    flat = rows(to_float32(on_true.array))
    index = (np.float32(start) + np.arange(flat.shape[1], dtype=np.float32))[None, :]
    limits = [rows(to_float32(bound.array)) for bound in bounds]
    chosen = _COMPARE[ops[0]](index, limits[0]) & _COMPARE[ops[1]](index, limits[1])
    values = np.where(chosen, flat, np.float32(on_false)).reshape(on_true.array.shape)
    attributes: tuple[tuple[str, Any], ...] = (
        ("comp_op0", ops[0]),
        ("comp_op1", ops[1]),
        ("range_start", float(start)),
        ("on_false", float(on_false)),
    )
    reads = (("on_true", on_true), ("bound0", bounds[0]), ("bound1", bounds[1]))
    return result_of("range_select", values, reads, attributes)
