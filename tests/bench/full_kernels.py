"""The public kernels of nki-samples at the sizes of their own benchmarks, and what each computes, written with NumPy.

The sizes are those of ``test/unit``, of ``benchmark_kernel`` in ``contributed`` and of the programs of the tutorials,
as far as they are made to measure: what only shows a kernel at work takes microseconds in NumPy. The expressions are
ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
F32 = np.float32


@dataclass(frozen=True)
class Tensor:
    """An argument: standard normal numbers (``low`` and ``high``: uniform ones)."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    bounds: tuple[float, float] | None = None


@dataclass(frozen=True)
class Full:
    """A kernel of the file that ends with ``path``, its arguments in order, and ``plain``: the same with NumPy.

    ``plain`` gets the tensors in fp32 where they are floating-point numbers. ``error`` is allowed, relative to the
    largest number. ``slow``: a minute and more. ``decorated``: is it a kernel in its file?
    """

    path: str
    kernel: str
    arguments: Mapping[str, Any]
    plain: Callable[..., Array]
    grid: tuple[int, ...] = ()
    error: float = 2e-2
    slow: bool = False
    note: str = ""
    decorated: bool = field(default=True)


def softmax(x: Array) -> Array:
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    result: Array = powers / powers.sum(axis=-1, keepdims=True)
    return result


def attention(q: Array, k: Array, v: Array, scale: float = 1.0, causal: bool = False) -> Array:
    """(..., d, queries), (..., d, keys), (..., keys, d) give (..., queries, d)."""
    scores = np.swapaxes(q, -1, -2) @ k
    if scale != 1.0:
        scores *= F32(scale)
    if causal:
        scores += np.triu(np.full(scores.shape[-2:], -np.inf, F32), 1)
    return softmax(scores) @ v


def flash(q: Array, k: Array, v: Array, **_: Any) -> Array:
    return attention(q, k, v, q.shape[-2] ** -0.5, causal=True)


def backward(q: Array, k: Array, v: Array, o: Array, dy: Array, lse: Array, **_: Any) -> Array:
    """dq, as (..., d, queries); the other two gradients take their time, too."""
    scale = F32(q.shape[-2] ** -0.5)
    lse = np.swapaxes(lse, -1, -2).reshape(*lse.shape[:-2], -1, 1)
    p = np.exp(np.swapaxes(q, -1, -2) @ k * scale - lse)
    dp = np.swapaxes(dy, -1, -2) @ v
    ds = p * (dp - (np.swapaxes(dy, -1, -2) * np.swapaxes(o, -1, -2)).sum(axis=-1, keepdims=True))
    dk, dv = q @ ds * scale, dy @ p
    dq: Array = k @ np.swapaxes(ds, -1, -2) * scale
    return dq + F32(0) * (dk[..., :1, :1] + dv[..., :1, :1])


def mamba(delta: Array, u: Array, a: Array, b: Array, c: Array) -> Array:
    batch, _, length = delta.shape
    out = np.zeros_like(delta)
    for n in range(batch):
        decay = np.exp(delta[n, :, None, :] * a[:, :, None])
        added = (delta[n] * u[n])[:, None, :] * b[n][None]
        state = np.zeros(a.shape, F32)
        for t in range(length):
            state = decay[:, :, t] * state + added[:, :, t]
            out[n, :, t] = (state * c[n][None, :, t]).sum(axis=1)
    return out


def layernorm(x: Array, gamma: Array, beta: Array, **_: Any) -> Array:
    result: Array = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + F32(1e-5)) * gamma + beta
    return result


def rmsnorm_linear(hidden: Array, weights: Array) -> Array:
    normed = hidden / np.sqrt(np.square(hidden).mean(axis=-1, keepdims=True) + F32(1e-6))
    result: Array = normed @ weights
    return result


def resized(x: Array, *, out_shape: tuple[int, ...]) -> Array:
    _, height, width, _ = x.shape
    rows = np.arange(out_shape[1]) * height // out_shape[1]
    columns = np.arange(out_shape[2]) * width // out_shape[2]
    result: Array = x[:, rows][:, :, columns]
    return result


def select_and_scatter(operand: Array, source: Array) -> Array:
    n, c, height, width = operand.shape
    rows, columns = source.shape[2:]
    padded = np.pad(operand, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    places = [(y, x) for y in range(3) for x in range(3)]
    windows = np.stack([padded[:, :, y : y + 2 * rows : 2, x : x + 2 * columns : 2] for y, x in places])
    best = windows.argmax(axis=0)
    out = np.zeros((n, c, height + 2, width + 2), F32)
    for number, (y, x) in enumerate(places):
        out[:, :, y : y + 2 * rows : 2, x : x + 2 * columns : 2] += np.where(best == number, source, F32(0))
    return out[:, :, 1:-1, 1:-1]


def adaptive_pool(x: Array, *, output_size: tuple[int, int]) -> Array:
    (height, width), (rows, columns) = x.shape[2:], output_size
    out = np.empty((*x.shape[:2], rows, columns), F32)
    for i in range(rows):
        for j in range(columns):
            part = x[:, :, i * height // rows : -(-(i + 1) * height // rows)]
            out[:, :, i, j] = part[:, :, :, j * width // columns : -(-(j + 1) * width // columns)].mean(axis=(2, 3))
    return out


def doubled(x: Array, axis: int) -> Array:
    """Linear interpolation to twice the size along ``axis``, with the ends repeated."""
    x = np.moveaxis(x, axis, -1)
    before = np.concatenate([x[..., :1], x[..., :-1]], axis=-1)
    after = np.concatenate([x[..., 1:], x[..., -1:]], axis=-1)
    found = np.stack([F32(0.75) * x + F32(0.25) * before, F32(0.75) * x + F32(0.25) * after], axis=-1)
    return np.moveaxis(found.reshape(*x.shape[:-1], -1), -1, axis)


def max_pool(x: Array, *, pool_size: int) -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(x, (pool_size, pool_size))
    result: Array = windows.max(axis=(2, 3))
    return result


def product(left: Array, right: Array, **_: Any) -> Array:
    return left.T @ right


def _attention(d: int, length: int, dtype: str) -> dict[str, Any]:
    return {name: Tensor((d, length), dtype, (-1, 1)) for name in "qkv"}


def _heads(heads: int, d: int, length: int) -> dict[str, Any]:
    turned, straight = Tensor((1, heads, d, length), bounds=(-1, 1)), Tensor((1, heads, length, d), bounds=(-1, 1))
    return {"q": turned, "k": turned, "v": straight, "seed": None}


FULL = (
    *(
        Full(
            "/attention_kernels.py",
            name,
            _attention(128, 4096, "bfloat16"),
            lambda q, k, v: attention(q, k, v.T),
        )
        for name in ("attn_fwd_v3", "attn_fwd_v5", "attn_fwd_v8", "attn_fwd_v11")
    ),
    *(
        Full(
            "/matrix_multiplication_nki_kernels.py",
            name,
            {"lhsT": Tensor((1024, 4096), "bfloat16"), "rhs": Tensor((1024, 2048), "bfloat16")},
            product,
        )
        for name in ("nki_matmul_tiled_", "nki_matmul_fully_optimized_")
    ),
    *(
        Full(
            "/mamba_nki_kernels.py",
            name,
            {
                "delta": Tensor((1, 256, 512), bounds=(0, 1)),
                "u": Tensor((1, 256, 512)),
                "A": Tensor((256, 16), bounds=(-2, 0)),
                "B": Tensor((1, 16, 512)),
                "C": Tensor((1, 16, 512)),
            },
            mamba,
            error=1e-4,
        )
        for name in ("mamba_v1", "mamba_v3")
    ),
    Full(
        "/sd_attention_nki_kernels.py",
        "fused_self_attn_for_SD_small_head_size",
        {"q_ref": Tensor((4096, 64)), "k_ref": Tensor((4096, 64)), "v_ref": Tensor((4096, 64))},
        lambda q, k, v: attention(q.T, k.T, v, 0.125),
    ),
    Full(
        "/reference/attention.py",
        "flash_fwd",
        _heads(1, 128, 4096),
        flash,
        grid=(1, 1),
        note="causal",
    ),
    Full(
        "/reference/attention.py",
        "flash_fwd",
        _heads(1, 96, 16384),
        flash,
        grid=(1, 1),
        note="causal",
        slow=True,
    ),
    Full(
        "/reference/attention.py",
        "flash_attn_bwd",
        {
            **{f"{name}_ref": Tensor((1, 4, 128, 4096), bounds=(-1, 1)) for name in ("q", "k", "v", "o", "dy")},
            "lse_ref": Tensor((1, 4, 128, 32), bounds=(8, 9)),
            "seed_ref": None,
            "use_causal_mask": False,
            "mixed_precision": True,
        },
        backward,
        grid=(1, 4),
    ),
    Full(
        "/reference/attention.py",
        "fused_self_attn_for_SD_small_head_size",
        {
            "q_ref": Tensor((1, 128, 4096), "bfloat16"),
            "k_ref": Tensor((1, 4096, 128), "bfloat16"),
            "v_ref": Tensor((1, 4096, 128), "bfloat16"),
        },
        lambda q, k, v: attention(q, np.swapaxes(k, 1, 2), v, 0.125),
        grid=(1,),
        error=4e-2,
    ),
    Full(
        "/reference/allocated_attention.py",
        "allocated_fused_self_attn_for_SD_small_head_size",
        {
            "q_ref": Tensor((1, 128, 4096), "bfloat16"),
            "k_ref": Tensor((1, 128, 4096), "bfloat16"),
            "v_ref": Tensor((1, 4096, 128), "bfloat16"),
        },
        lambda q, k, v: np.swapaxes(attention(q, k, v, 0.125), 1, 2),
        grid=(1,),
    ),
    *(
        Full(
            "/reference/allocated_fused_linear.py",
            "allocated_fused_rms_norm_qkv",
            {"hidden": Tensor((1, tokens, dim), "bfloat16"), "weights": Tensor((dim, heads), "bfloat16")},
            rmsnorm_linear,
        )
        for tokens, dim, heads in ((512, 1024, 384), (1024, 8192, 512))
    ),
    Full(
        "/reference/vision.py",
        "resize_nearest_fixed_dma_kernel",
        {"data_tensor": Tensor((10, 30, 20, 1280)), "out_shape": (10, 59, 38, 1280)},
        resized,
        error=0.0,
    ),
    Full(
        "/reference/vision.py",
        "select_and_scatter_kernel",
        {"operand_tensor": Tensor((8, 64, 112, 112)), "source_tensor": Tensor((8, 64, 56, 56))},
        select_and_scatter,
        error=1e-5,
    ),
    *(
        Full(
            "/reference/vision.py",
            "adaptive_avg_pool2d_kernel",
            {"in_tensor": Tensor(shape), "output_size": size},
            adaptive_pool,
            error=1e-5,
        )
        for shape, size in (
            ((4, 64, 56, 56), (7, 7)),
            ((2, 2048, 32, 32), (3, 3)),
            ((2, 64, 256, 256), (1, 1)),
        )
    ),
    Full(
        "/contributed/interpolate_bilinear_fwd.py",
        "interpolate_bilinear_2x_fwd",
        {"src_arr": Tensor((128, 64, 128, 128))},
        lambda x: doubled(doubled(x, 2), 3),
        error=1e-5,
    ),
    Full(
        "/contributed/interpolate_trilinear_fwd.py",
        "interpolate_trilinear_2x_fwd",
        {"src_arr": Tensor((2, 64, 23, 23, 23))},
        lambda x: doubled(doubled(doubled(x, 2), 3), 4),
        error=1e-5,
    ),
    Full(
        "/contributed/matmul.py",
        "matmul",
        {"A_DRAM": Tensor((8192, 4096), "float16"), "B_DRAM": Tensor((8192, 8192), "float16")},
        product,
        slow=True,
        decorated=False,
    ),
    Full(
        "/contributed/maxpooling.py",
        "max_pooling_2d_stride_1",
        {"in_tensor": Tensor((448, 448)), "pool_size": 3},
        max_pool,
        error=0.0,
    ),
)
