"""Microscaling: blocks of 8 partitions by 4 elements that share one power of two (NeuronCore-v4).

Sources: ``nki.isa.quantize_mx`` and ``nki.isa.nc_matmul_mx`` of the 2.28 documentation; OCP Microscaling Formats 1.0.
"""

from __future__ import annotations

import numpy as np

from ..errors import KernelError
from ..memory import Array, View
from ..numerics import FLOAT32, to_float32
from ..packed import FOUR, format_of, pack, unpack
from .core import Result, result_of
from .matmul import gemm

BLOCK = 8
"""Partitions of a block."""
QUADRANT = 32
_BIAS = 127
"""Of the exponent, in fp32 and in a scale."""


def scale_rows(partitions: int) -> Array:
    """Row of the scale tile for each block of a data tile: 4 rows at the start of each quadrant of 32 partitions."""
    block = np.arange(partitions // BLOCK)
    rows: Array = block // FOUR * QUADRANT + block % FOUR
    return rows


def scale_partitions(partitions: int) -> int:
    """Partitions that the scales of a data tile reach over."""
    return int(scale_rows(partitions)[-1]) + 1


def _blocks(array: Array) -> Array:
    """(P, F, 4) as (blocks, 8, F, 4)."""
    return array.reshape(array.shape[0] // BLOCK, BLOCK, *array.shape[1:])


def quantize(src: View, dtype: np.dtype[np.void], doubled: bool = False) -> tuple[Result, Array]:
    """(P, 4F) to packed (P, F), and the scale of each block, (P / 8, F) uint8.

    A scale is the largest fp32 exponent of its block less the format's, at least 0; elements saturate. A ``doubled``
    one (from 0.5 on) is twice as large, but for a block of zeros.
    """
    layout = format_of(dtype)
    values = to_float32(src.array).reshape(src.array.shape[0], -1, FOUR)
    blocks = _blocks(values)
    exponents = (np.ascontiguousarray(blocks).view(np.uint32) >> 23) & 0xFF
    largest = exponents.max(axis=(1, 3)).astype(np.int64)
    scales = np.maximum(largest - layout.exponent + (doubled & (largest > 0)), 0)
    shrunk = np.ldexp(blocks.astype(np.float64), _BIAS - scales[:, None, :, None])
    clipped = np.clip(shrunk, -layout.largest, layout.largest).astype(FLOAT32)
    packed = pack(clipped.reshape(values.shape), dtype)
    return result_of("quantize_mx", packed, (("src", src),)), scales.astype(np.uint8)


def dequantized(data: View, scale: View, role: str) -> Array:
    """(P, F) packed elements times their scales, as fp32 (P, F, 4)."""
    partitions = data.array.shape[0]
    flat = unpack(data.array.reshape(partitions, -1))
    scales = scale.array.view(np.uint8).reshape(scale.array.shape[0], -1)
    if scales.shape[0] < scale_partitions(partitions) or scales.shape[1] < flat.shape[1]:
        raise KernelError(
            "",
            f"nc_matmul_mx: {role}_scale has shape {scales.shape}, {role} of shape {data.array.shape} needs "
            f"({scale_partitions(partitions)}, {flat.shape[1]})",
        )
    chosen = scales[scale_rows(partitions), : flat.shape[1]].astype(np.int64)
    scaled = np.ldexp(_blocks(flat).astype(np.float64), chosen[:, None, :, None] - _BIAS)
    result: Array = scaled.reshape(flat.shape).astype(FLOAT32)
    return result


def matmul_mx(stationary: View, moving: View, stationary_scale: View, moving_scale: View) -> Result:
    """Contract partitions and packed elements: (P, M) and (P, N) give (M, N) in fp32.

    Four passes of the array in a fixed order, each over all partitions: the result does not depend on the slicing.
    """
    left, right = dequantized(stationary, stationary_scale, "stationary"), dequantized(moving, moving_scale, "moving")
    total = np.zeros((left.shape[1], right.shape[1]), FLOAT32)
    for element in range(FOUR):
        for start in range(0, right.shape[1], 512):
            part = slice(start, start + 512)
            total[:, part] += gemm(left[:, :, element], right[:, part, element])
    values = total.reshape(total.shape[0], *moving.array.shape[1:])
    reads = (
        ("stationary", stationary),
        ("moving", moving),
        ("stationary_scale", stationary_scale),
        ("moving_scale", moving_scale),
    )
    return result_of("nc_matmul_mx", values, reads, accumulates=True)
