"""The tutorials of nki-samples, and the SDK's examples, which are near copies of them."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np

from . import BF16, EXACT, FP32, Compared, case, compared, normal, softmax

ATTENTION = tuple(f"attn_fwd_v{n}" for n in ("1", "2", "3", "4", "5", "6", "7", "8", "8a", "9", "10", "11"))
MATMULS = {
    "nki_matmul_basic_": (128, 64, 512),
    "nki_matmul_tiled_": (256, 256, 1024),
    "nki_matmul_hoist_load_": (256, 256, 1024),
    "nki_matmul_block_free_dimension_": (256, 256, 1024),
    "nki_matmul_fully_optimized_": (1024, 2048, 1024),
}
"""K, M, N of each kernel: the smallest that it allows."""


@case("/attention_kernels.py", *ATTENTION)
def attention(module: ModuleType, name: str) -> Iterator[Compared]:
    # v1 and v2 take one tile; the others load keys in tiles of 512, and the last ones those of four tiles at once.
    seqlen = 128 if name in ATTENTION[:2] else 512 if name in ATTENTION[:9] else 2048
    q, k, v = (normal(128, seqlen, seed=i) * 0.3 for i in range(3))
    expected = softmax(q.astype(np.float64).T @ k) @ v.T
    yield compared(f"{seqlen} tokens", getattr(module, name)(q, k, v), expected, 2e-2)


@case("/average_pool2d_nki_kernels.py", "tensor_avgpool_kernel")
def average_pool(module: ModuleType) -> Iterator[Compared]:
    x = normal(5, 12, 9)
    expected = x.astype(np.float64).reshape(5, 4, 3, 3, 3).mean(axis=(2, 4))
    yield compared("[5, 12, 9] by 3", module.tensor_avgpool_kernel(x, 3), expected, FP32)


@case("/mamba_nki_kernels.py", "mamba_v1", "mamba_v2", "mamba_v3")
def mamba(module: ModuleType, name: str) -> Iterator[Compared]:
    batch, channels, state, length = 2, 256, 4, 1024
    delta = np.abs(normal(batch, channels, length)) * 0.3
    u, decay = normal(batch, channels, length, seed=1), -np.abs(normal(channels, state))
    b, c = normal(batch, state, length, seed=2), normal(batch, state, length, seed=3)
    held = np.zeros((batch, channels, state))
    expected = np.zeros((batch, channels, length))
    for t in range(length):
        held = np.exp(delta[:, :, None, t] * decay) * held + (delta * u)[:, :, None, t] * b[:, None, :, t]
        expected[:, :, t] = (held * c[:, None, :, t]).sum(axis=2)
    yield compared("two batches", getattr(module, name)(delta, u, decay, b, c), expected, FP32)


@case("/layernorm_nki_kernel.py", "nki_layernorm_kernel_v1", "nki_layernorm_kernel_v2")
def layernorm(module: ModuleType, name: str) -> Iterator[Compared]:
    x, gamma, beta = normal(300, 600), normal(600, seed=1), normal(600, seed=2)
    wide = x.astype(np.float64)
    expected = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5) * gamma + beta
    yield compared("[300, 600]", getattr(module, name)(x, 1e-5, gamma, beta), expected, FP32)


@case("/matrix_multiplication_nki_kernels.py", *MATMULS)
def matmul(module: ModuleType, name: str) -> Iterator[Compared]:
    k, m, n = MATMULS[name]
    left, right = normal(k, m), normal(k, n, seed=1)
    expected = left.astype(np.float64).T @ right
    yield compared(f"{k} x {m} x {n}", getattr(module, name)(left, right), expected, FP32)


@case("/rmsnorm_nki_kernels.py", "nki_rmsnorm_kernel")
def rmsnorm(module: ModuleType) -> Iterator[Compared]:
    x, gamma = normal(200, 512), normal(512, seed=1)
    expected = x / np.sqrt(np.square(x, dtype=np.float64).mean(1, keepdims=True)) * gamma
    yield compared("[200, 512]", module.nki_rmsnorm_kernel(x, gamma), expected, FP32)


@case("/rotary_nki_kernels.py", "nki_apply_rotary_embedding")
def rotary(module: ModuleType) -> Iterator[Compared]:
    q, k = normal(2, 3, 200, 64), normal(2, 3, 200, 64, seed=1)
    angles = normal(2, 200, 64, seed=2)
    cos, sin = np.cos(angles), np.sin(angles)

    def turned(x: Any) -> Any:
        halves = np.concatenate([-x[..., 32:], x[..., :32]], axis=-1)
        return x * cos[:, None] + halves * sin[:, None]

    found = module.nki_apply_rotary_embedding[2, 3](q, k, cos, sin)
    yield compared("200 tokens", found, np.stack([turned(q), turned(k)]), FP32)


@case("/sd_attention_nki_kernels.py", "fused_self_attn_for_SD_small_head_size")
def sd_attention(module: ModuleType) -> Iterator[Compared]:
    q, k, v = (normal(512, 64, seed=i) for i in range(3))
    expected = softmax(q.astype(np.float64) @ k.T * 0.125) @ v
    yield compared("512 tokens", module.fused_self_attn_for_SD_small_head_size(q, k, v), expected, 2e-2)


@case("/softmax_nki_kernels.py", "nki_softmax_kernel")
def softmax_rows(module: ModuleType) -> Iterator[Compared]:
    x = normal(200, 300)
    yield compared("[200, 300]", module.nki_softmax_kernel(x), softmax(x.astype(np.float64)), FP32)


@case("/spmd_tensor_addition_nki_kernels.py", "nki_tensor_add")
def addition_of_programs(module: ModuleType) -> Iterator[Compared]:
    a, b = normal(256, 1024), normal(256, 1024, seed=1)
    yield compared("2 x 2 programs", module.nki_tensor_add(a, b), a + b, EXACT)


@case("/tensor_addition/tensor_addition_nki_kernels.py", "nki_tensor_add")
def addition(module: ModuleType) -> Iterator[Compared]:
    a, b = normal(256, 1024), normal(256, 1024, seed=1)
    yield compared("2 x 2 tiles", module.nki_tensor_add(a, b), a + b, EXACT)


@case("/spmd_multiple_nc_tensor_addition_nki_kernels.py", "nki_tensor_add_nc2")
def addition_on_two_cores(module: ModuleType) -> Iterator[Compared]:
    a, b = normal(512, 1024), normal(512, 1024, seed=1)
    yield compared("nc(2) x 2 x 2", module.nki_tensor_add_nc2(a, b), a + b, EXACT)


@case("/transpose2d_nki_kernels.py", "tensor_transpose2D_kernel_")
def transpose(module: ModuleType) -> Iterator[Compared]:
    x = normal(5, 3 * 7)
    expected = x.reshape(5, 3, 7).swapaxes(1, 2).reshape(5, 21)
    yield compared("[5, 3 * 7]", module.tensor_transpose2D_kernel_(x, (3, 7)), expected, EXACT)


# --- single files of the SDK -----------------------------------------------------------------------------------------


@case("/getting_started_baremetal.py", "nki_tensor_add_kernel")
@case("/getting_started_jax.py", "nki_tensor_add_kernel")
@case("/getting_started_torch.py", "nki_tensor_add_kernel")
def first_addition(module: ModuleType) -> Iterator[Compared]:
    a, b = normal(4, 3, dtype=np.float16), normal(4, 3, seed=1, dtype=np.float16)
    yield compared("[4, 3] f16", module.nki_tensor_add_kernel(a, b), a + b, EXACT)


@case("/index-case-1.py", "tensor_split_kernel_")
def split(module: ModuleType) -> Iterator[Compared]:
    x = normal(6, 11)
    even, odd = module.tensor_split_kernel_(x)
    yield compared("even columns", even, x[:, ::2], EXACT)
    yield compared("odd columns", odd, x[:, 1::2], EXACT)


@case("/index-case-3.py", "tensor_maxpool_kernel_")
def maxpool(module: ModuleType) -> Iterator[Compared]:
    x = normal(3, 6, 8)
    yield compared("by 2", module.tensor_maxpool_kernel_(x, 2), x.reshape(3, 3, 2, 4, 2).max(axis=(2, 4)), EXACT)


@case("/layout-dynamic-loop.py", "tensor_exp_kernel_")
@case("/layout-loop.py", "tensor_exp_kernel_")
@case("/layout-pass.py", "tensor_exp_kernel_")
@case("/prof-kernel.py", "tensor_exp_kernel_")
@case("/prof-kernel-benchmark.py", "tensor_exp_kernel_")
@case("/prof-kernel-profile.py", "tensor_exp_kernel_")
def exponential(module: ModuleType) -> Iterator[Compared]:
    rows = {"layout-loop": 256, "layout-pass": 128}.get(module.__name__, 250)
    x = normal(rows, 512)
    found = module.tensor_exp_kernel_(x)
    # What nki.benchmark and nki.profile measure has no result for the caller.
    if found is not None:
        yield compared(f"[{rows}, 512]", found, np.exp(x.astype(np.float64)), FP32)


@case("/layout-violation.py", "tensor_exp_kernel_")
def too_many_partitions(module: ModuleType) -> Iterator[Compared]:
    try:
        module.tensor_exp_kernel_(normal(256, 512))
    except Exception as error:
        refused = "256" in str(error) and "128" in str(error)
        yield Compared(f"refused, as it says: {error}", 0.0 if refused else 1.0, EXACT)
    else:
        yield Compared("256 partitions are not refused", 1.0, EXACT)


@case("/mm-nisa-spmd.py", "matmul_128x128x512_spmd")
@case("/mm-nl-spmd.py", "matmul_128x128x512_spmd")
def matmul_of_programs(module: ModuleType) -> Iterator[Compared]:
    left, right = normal(128, 512), normal(128, 1024, seed=1)
    given = left if module.__name__ == "mm-nisa-spmd" else np.ascontiguousarray(left.T)
    expected = left.astype(np.float64).T @ right
    yield compared("4 x 2 programs", module.matmul_128x128x512_spmd[4, 2](given, right), expected, BF16)
