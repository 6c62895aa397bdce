"""Vision, normalisation and matmul kernels of nki-samples: the reference ones, and the contributed ones."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np

from . import BF16, EXACT, FP32, Compared, case, compared, normal

FP8 = ml_dtypes.float8_e4m3
BFLOAT16 = ml_dtypes.bfloat16
FP8_STEP = 2.0**-3
"""One unit in the last place of fp8 (e4m3) at the top of its range, where a bf16 input may round the other way."""


@case("/reference/tutorial.py", "add_kernel_nx8x128x512")
def masked_addition(module: ModuleType) -> Iterator[Compared]:
    a, b = normal(2, 8, 128, 512), normal(2, 8, 128, 512, seed=1)
    size, count = a.size, a.size - 70_000
    found = np.asarray(module.add_kernel_nx8x128x512[2](a, b, count)).reshape(size)
    yield compared(f"{count} of {size} elements", found[:count], (a + b).reshape(size)[:count], EXACT)


@case("/reference/vision.py", "select_and_scatter_kernel")
def select_and_scatter(module: ModuleType) -> Iterator[Compared]:
    operand, source = normal(2, 64, 8, 8), normal(2, 64, 4, 4, seed=1)
    padded = np.pad(operand, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    expected = np.zeros((2, 64, 10, 10))
    for y, x in np.ndindex(4, 4):
        best = padded[:, :, 2 * y : 2 * y + 3, 2 * x : 2 * x + 3].reshape(2, 64, 9).argmax(axis=2)
        for n, c in np.ndindex(2, 64):
            expected[n, c, 2 * y + best[n, c] // 3, 2 * x + best[n, c] % 3] += source[n, c, y, x]
    found = module.select_and_scatter_kernel(operand, source)
    yield compared("[2, 64, 8, 8]", found, expected[:, :, 1:9, 1:9], FP32)


@case("/reference/vision.py", "resize_nearest_fixed_dma_kernel")
def resize_nearest(module: ModuleType) -> Iterator[Compared]:
    x = normal(2, 6, 5, 40)
    rows, columns = np.arange(13) * 6 // 13, np.arange(9) * 5 // 9
    found = module.resize_nearest_fixed_dma_kernel(x, (2, 13, 9, 40))
    yield compared("6 x 5 to 13 x 9", found, x[:, rows][:, :, columns], EXACT)


@case("/reference/vision.py", "adaptive_avg_pool2d_kernel")
def adaptive_average_pool(module: ModuleType) -> Iterator[Compared]:
    x = normal(2, 80, 13, 9)
    expected = np.zeros((2, 80, 6, 4))
    for i, j in np.ndindex(6, 4):
        rows, columns = slice(i * 13 // 6, -(-(i + 1) * 13 // 6)), slice(j * 9 // 4, -(-(j + 1) * 9 // 4))
        expected[:, :, i, j] = x[:, :, rows, columns].mean(axis=(2, 3), dtype=np.float64)
    yield compared("13 x 9 to 6 x 4", module.adaptive_avg_pool2d_kernel(x, (6, 4)), expected, FP32)


@case("/reference/allocated_fused_linear.py", "allocated_fused_rms_norm_qkv")
def fused_rms_norm(module: ModuleType) -> Iterator[Compared]:
    for tokens, dtype, allowed in ((384, np.float16, 2.0**-9), (256, BFLOAT16, 2 * BF16)):
        hidden, weights = normal(1, tokens, 512, dtype=dtype), normal(512, 384, seed=1, dtype=dtype)
        wide = hidden.astype(np.float64)
        normed = wide / np.sqrt(np.square(wide).mean(axis=-1, keepdims=True) + 1e-6)
        found = module.allocated_fused_rms_norm_qkv(hidden, weights)
        yield compared(f"{tokens} tokens", found, normed @ weights.astype(np.float64), allowed)


@case("/reference/double_row_matmul.py", "quantized_double_row_matmul")
def double_row(module: ModuleType) -> Iterator[Compared]:
    m, k, n = 256, 512, 1024
    left, right = normal(m, k, dtype=BFLOAT16), normal(k, n, seed=1)
    scale = np.abs(right).max(axis=0) / 240
    codes = (right / scale).astype(FP8)
    pairs = codes.reshape(k // 256, 2, 128, n // 512, 512).transpose(0, 2, 3, 1, 4).reshape(k // 2, 2 * n)
    scales = np.broadcast_to(scale, (128, n)).astype(BFLOAT16)
    found = module.quantized_double_row_matmul(left, pairs, scales, 2, 1, 4)
    step = np.abs(left.astype(np.float64)).max(axis=1, keepdims=True) / 240
    expected = (left / step).astype(FP8).astype(np.float64) * step @ (codes.astype(np.float64) * scale)
    yield compared(f"{m} x {k} x {n}", found, expected, 2e-2)


def quantized(x: Any, gamma: Any = None, eps: float = 1e-6) -> tuple[Any, Any]:
    """(values, scale of each row): ``x``, normalised when there is a gamma, in units of a 240th of its maximum."""
    if gamma is not None:
        x = x / np.sqrt(np.square(x).mean(axis=-1, keepdims=True) + eps) * gamma
    scale = np.abs(x).max(axis=-1, keepdims=True) / 240
    return x / scale, scale


def _rows_and_scales(found: Any, width: int) -> tuple[Any, Any]:
    """The fp8 values of a quantising kernel's output, and its scales, whose bytes follow each row."""
    found = np.asarray(found)
    scales = np.ascontiguousarray(found[..., width:]).view(np.uint8).view(np.float32)
    return found[..., :width].astype(np.float64), scales


@case("/rmsnorm_quant/rmsnorm_quant.py", "rmsnorm_quant_kernel")
def norm_and_quantize(module: ModuleType) -> Iterator[Compared]:
    x, gamma = normal(2, 200, 1024, dtype=BFLOAT16), normal(1024, seed=1, dtype=BFLOAT16)
    wide, factor = x.astype(np.float64), gamma.astype(np.float64)
    for norm, grid in (
        (module.NormType.NO_NORM, None),
        (module.NormType.RMS_NORM, None),
        (module.NormType.RMS_NORM, 2),
    ):
        arguments = module.RmsNormQuantKernelArgs(lower_bound=0.0, norm_type=norm)
        kernel = module.rmsnorm_quant_kernel if grid is None else module.rmsnorm_quant_kernel[grid]
        values, scales = _rows_and_scales(kernel(x, gamma, arguments), 1024)
        expected, wanted = quantized(wide, factor if norm is module.NormType.RMS_NORM else None)
        what = f"{norm.name}{f', {grid} programs' if grid else ''}"
        yield compared(what, values, expected, FP8_STEP)
        yield compared(f"{what} scales", scales, wanted, 2 * BF16)


@case("/neuron-team-kernels/rmsnorm_quant.py", "compatible_rmsnorm_quant")
def norm_and_quantize_by_shards(module: ModuleType) -> Iterator[Compared]:
    x, gamma = normal(2, 200, 768, dtype=BFLOAT16), normal(1, 768, seed=1, dtype=BFLOAT16)
    wide, factor = x.astype(np.float64), gamma.astype(np.float64)
    for name, grid in (("QuantOnly", None), ("RMSNormQuant", None), ("RMSNormQuant", 2)):
        kernel = module.compatible_rmsnorm_quant if grid is None else module.compatible_rmsnorm_quant[grid]
        values, scales = _rows_and_scales(kernel(x, gamma, 0.0, name), 768)
        expected, wanted = quantized(wide, factor if name == "RMSNormQuant" else None)
        what = f"{name}{f', {grid} programs' if grid else ''}"
        yield compared(what, values, expected, FP8_STEP)
        yield compared(f"{what} scales", scales, wanted, 2 * BF16)


@case("/contributed/matmul.py", "matmul")
def blocked_matmul(module: ModuleType) -> Iterator[Compared]:
    import neuronxcc.nki as nki

    left, right = normal(512, 256), normal(512, 1024, seed=1)
    found = nki.jit(module.matmul)(left, right, TILES_IN_BLOCK_K=2, TILES_IN_BLOCK_M=1, TILES_IN_BLOCK_N=1)
    yield compared("2 x 2 x 2 blocks", found, left.astype(np.float64).T @ right, FP32)


@case("/maxpooling.py", "max_pooling_2d_stride_1")
def max_pool(module: ModuleType) -> Iterator[Compared]:
    x = normal(200, 30)
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3))
    yield compared("200 x 30 by 3", module.max_pooling_2d_stride_1(x, 3), windows.max(axis=(2, 3)), EXACT)


def doubled(x: Any, axis: int) -> Any:
    """Linear interpolation to twice the size along ``axis``, with the ends repeated."""
    x = np.moveaxis(x.astype(np.float64), axis, -1)
    before = np.concatenate([x[..., :1], x[..., :-1]], axis=-1)
    after = np.concatenate([x[..., 1:], x[..., -1:]], axis=-1)
    found = np.stack([0.75 * x + 0.25 * before, 0.75 * x + 0.25 * after], axis=-1)
    return np.moveaxis(found.reshape(*x.shape[:-1], -1), -1, axis)


@case("/interpolate_bilinear_fwd.py", "interpolate_bilinear_2x_fwd")
def bilinear(module: ModuleType) -> Iterator[Compared]:
    for shape, chunk in (((2, 64, 13, 7), 5), ((3, 50, 11, 8), 10)):
        x = normal(*shape)
        found = module.interpolate_bilinear_2x_fwd(x, chunk)
        yield compared(f"{list(shape)} by {chunk}", found, doubled(doubled(x, 2), 3), FP32)


@case("/interpolate_trilinear_fwd.py", "interpolate_trilinear_2x_fwd")
def trilinear(module: ModuleType) -> Iterator[Compared]:
    for shape, chunk in (((2, 64, 7, 5, 6), 4), ((3, 50, 7, 4, 3), 3)):
        x = normal(*shape)
        found = module.interpolate_trilinear_2x_fwd(x, chunk)
        yield compared(f"{list(shape)} by {chunk}", found, doubled(doubled(doubled(x, 2), 3), 4), FP32)
