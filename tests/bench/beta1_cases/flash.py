"""Attention: the reference kernels of nki-samples, and the pipelined one."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np

from . import FP32, Compared, case, compared, normal, softmax

LOOSE = 2e-2
"""Probabilities, keys and values are rounded to bfloat16 before they are multiplied."""


def masked_scores(q: Any, k: Any, *, causal: bool, window: int = -1, bias: Any = 0.0, scale: float = 0.0) -> Any:
    """Scaled products of (..., d, queries) and (..., d, keys), -inf where a query may not look."""
    scores = np.swapaxes(q, -1, -2).astype(np.float64) @ k * (scale or q.shape[-2] ** -0.5) + bias
    row, column = np.indices(scores.shape[-2:])
    seen = (column <= row) | (not causal)
    if window > 0:
        seen &= column > row - window
    return np.where(seen, scores, -np.inf)


def log_sum(scores: Any) -> Any:
    """Logarithm of the sum of exponentials over keys, (..., queries, 1)."""
    highest = scores.max(axis=-1, keepdims=True)
    return highest + np.log(np.exp(scores - highest).sum(axis=-1, keepdims=True))


def by_partition(rows: Any) -> Any:
    """(..., queries, 1) gives (..., 128, queries / 128): how the kernels store one number a query."""
    return np.swapaxes(rows.reshape(*rows.shape[:-2], -1, 128), -1, -2)


@case("/reference/attention.py", "flash_fwd")
def forward(module: ModuleType) -> Iterator[Compared]:
    heads, kv_heads, d, length = 2, 1, 64, 1024
    q = normal(1, heads, d, length)
    k, v = normal(1, kv_heads, d, length, seed=1), normal(1, kv_heads, length, d, seed=2)
    bias = normal(1, 1, length, length, seed=3)
    kernel = module.flash_fwd[1, kv_heads]
    for what, options, turned in (
        ("causal, two heads a key", {"use_causal_mask": True}, False),
        ("all keys, v transposed", {"use_causal_mask": False}, True),
        ("window of 200", {"use_causal_mask": True, "sliding_window": 200}, False),
        ("causal, with bias", {"use_causal_mask": True, "logit_bias": bias}, False),
        ("bias", {"use_causal_mask": False, "logit_bias": bias}, False),
    ):
        scores = masked_scores(
            q,
            k,
            causal=bool(options["use_causal_mask"]),
            window=int(options.get("sliding_window", -1)),  # type: ignore[call-overload]
            bias=options.get("logit_bias", 0.0),
        )
        config = module.FlashConfig(seq_tile_size=512, training=True, should_transpose_v=turned)
        given = np.ascontiguousarray(v.swapaxes(-1, -2)) if turned else v
        out, lse = kernel(q, k, given, None, mixed_precision=True, config=config, **options)
        yield compared(what, out, softmax(scores) @ v, LOOSE)
        yield compared("lse", lse, by_partition(log_sum(scores)), LOOSE)
    config = module.FlashConfig(seq_tile_size=512, training=False)
    out = kernel(q, k, v, None, mixed_precision=False, config=config)
    yield compared("inference in fp32", out, softmax(masked_scores(q, k, causal=True)) @ v, FP32)


@case("/reference/attention.py", "flash_attn_bwd")
def backward(module: ModuleType) -> Iterator[Compared]:
    heads, kv_heads, d, length = 2, 1, 64, 512
    q, dy = normal(1, heads, d, length), normal(1, heads, d, length, seed=3)
    k, v = normal(1, kv_heads, d, length, seed=1), normal(1, kv_heads, d, length, seed=2)
    for what, causal, window, sinks in (
        ("all keys", False, -1, None),
        ("causal", True, -1, None),
        ("window of 128", True, 128, None),
        ("causal, with sinks", True, -1, normal(1, heads, seed=4)),
    ):
        scores = masked_scores(q, k, causal=causal, window=window)
        lse = log_sum(scores)
        if sinks is not None:
            lse = np.logaddexp(lse, sinks[:, :, None, None])
        p = np.exp(scores - lse)
        out = np.swapaxes(p @ np.swapaxes(v, -1, -2), -1, -2)
        dq, dk, dv = gradients(q, k, v, dy, p)
        expected = dq, dk.sum(axis=1, keepdims=True), dv.sum(axis=1, keepdims=True)
        arrays = (q, k, v, out.astype(np.float32), dy, by_partition(lse).astype(np.float32), None)
        found = module.flash_attn_bwd[1, kv_heads](
            *arrays, use_causal_mask=causal, mixed_precision=True, sliding_window=window, sinks=sinks
        )
        for name, one, other in zip(("dq", "dk", "dv"), found[:3], expected, strict=True):
            yield compared(f"{what} {name}", one, other, FP32)
        if sinks is not None:
            products = (np.swapaxes(dy, -1, -2) * np.swapaxes(out, -1, -2)).sum(axis=-1)
            wanted = -(np.exp(sinks[:, :, None] - lse[..., 0]) * products).sum(axis=-1)
            yield compared(f"{what} dsinks", found[3], wanted, FP32)


def gradients(q: Any, k: Any, v: Any, dy: Any, p: Any) -> tuple[Any, Any, Any]:
    """dq, dk, dv of attention with probabilities ``p``; all (..., d, tokens)."""
    scale = q.shape[-2] ** -0.5
    dp = np.swapaxes(dy, -1, -2).astype(np.float64) @ v
    ds = p * (dp - (dp * p).sum(axis=-1, keepdims=True))
    return k @ np.swapaxes(ds, -1, -2) * scale, q @ ds * scale, dy @ p


@case("/reference/attention.py", "fused_self_attn_for_SD_small_head_size")
def small_head(module: ModuleType) -> Iterator[Compared]:
    q = normal(2, 64, 512)
    k, v = normal(2, 512, 64, seed=1), normal(2, 512, 64, seed=2)
    for causal in (False, True):
        scores = masked_scores(q, np.swapaxes(k, 1, 2), causal=causal, scale=0.125)
        found = module.fused_self_attn_for_SD_small_head_size[2](q, k, v, use_causal_mask=causal)
        yield compared("causal" if causal else "all keys", found, softmax(scores) @ v, LOOSE)


@case("/reference/allocated_attention.py", "allocated_fused_self_attn_for_SD_small_head_size")
def allocated_small_head(module: ModuleType) -> Iterator[Compared]:
    q, k, v = normal(1, 128, 1024), normal(1, 128, 1024, seed=1), normal(1, 1024, 128, seed=2)
    scores = masked_scores(q, k, causal=False, scale=0.125)
    found = module.allocated_fused_self_attn_for_SD_small_head_size[1](q, k, v)
    yield compared("1024 tokens", found, np.swapaxes(softmax(scores) @ v, 1, 2), LOOSE)


@case("/pipelined_attention.py", "flash_fwd", slow=True)
def pipelined(module: ModuleType) -> Iterator[Compared]:
    length, d = 16384, 128
    bf16 = ml_dtypes.bfloat16
    q, k, v = normal(1, d, length, dtype=bf16), normal(1, d, length, seed=1, dtype=bf16), normal(1, length, d, seed=2)
    found = module.flash_fwd[0](q, k, v.astype(bf16), mixed_precision=True, softmax_scale=0.125, use_causal_mask=False)
    wide = [x[0].astype(np.float32) for x in (q, k, v.astype(bf16))]
    expected = np.empty((1, length, d))
    for start in range(0, length, 1024):
        expected[0, start : start + 1024] = softmax(wide[0][:, start : start + 1024].T @ wide[1] * 0.125) @ wide[2]
    yield compared("16384 tokens", found, expected, LOOSE)


@case("/attention_build_blocks.py", "_flash_attention_core", "_flash_attn_bwd_core")
def blocks(module: ModuleType, name: str) -> Iterator[Compared]:
    """The blocks of a larger kernel in a kernel of ours: 128 queries, the fourth tile, over 512 or 1024 keys."""
    from .wrappers import launched

    d, tile = 128, 3 if name == "_flash_attn_bwd_core" else 6
    length = 512 if name == "_flash_attn_bwd_core" else 1024
    q, k, v, dy = normal(d, 128), normal(d, length, seed=1), normal(d, length, seed=2), normal(d, 128, seed=3)
    for causal in (False, True):
        what = "causal" if causal else "all keys"
        every = masked_scores(np.tile(q, length // 128), k, causal=causal)
        scores = every[tile * 128 : tile * 128 + 128]
        lse = log_sum(scores)
        p = np.exp(scores - lse)
        if name == "_flash_attention_core":
            out, found = launched(module).attention_of_tile[1, 1](q, k, np.ascontiguousarray(v.T), tile, causal)
            yield compared(what, out, p @ v.T, LOOSE)
            yield compared(f"{what} lse", found, lse, LOOSE)
            continue
        products = ((p @ v.T) * dy.T).sum(axis=1, keepdims=True)
        sums = lse.astype(np.float32), products.astype(np.float32)
        found = launched(module).gradient_of_tile[1, 1](q, k, v, dy, *sums, tile, causal)
        for part, one, other in zip(("dq", "dk", "dv"), found, gradients(q, k, v, dy, p), strict=True):
            yield compared(f"{what} {part}", one, other, FP32)
