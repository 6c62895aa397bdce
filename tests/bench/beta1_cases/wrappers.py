"""Kernels of ours around what a checkout offers as parts of a larger kernel: they bring tiles in and out."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np
from neuronxcc.nki.language import par_dim


def attention_of_tiles(blocks: ModuleType, tile: int, causal: bool) -> Any:
    """Tile ``tile`` of 128 queries (d, 128) over keys (d, n * 512): its rows of the output, and of the log sum."""

    @nki.jit
    def kernel(q, k, v):  # type: ignore[no-untyped-def]
        d, length = k.shape
        tiles = length // 512
        out = nl.ndarray((128, d), dtype=nl.float32, buffer=nl.shared_hbm)
        log_sum = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.shared_hbm)
        o = nl.zeros((tiles, par_dim(128), d), dtype=nl.float32, buffer=nl.sbuf)
        l = nl.zeros((tiles, par_dim(128), 1), dtype=nl.float32, buffer=nl.sbuf)  # noqa: E741
        m = nl.zeros((tiles, par_dim(128), 1), dtype=nl.float32, buffer=nl.sbuf)
        queries = nl.ndarray((par_dim(d), 128), dtype=nl.bfloat16, buffer=nl.sbuf)
        queries[...] = nl.multiply(nl.load(q), d**-0.5)
        for j in nl.static_range(tiles):
            keys = nl.ndarray((par_dim(d), 512), dtype=nl.bfloat16, buffer=nl.sbuf)
            keys[...] = nl.load(k[:, nl.ds(j * 512, 512)])
            values = nl.ndarray((4, par_dim(128), d), dtype=nl.bfloat16, buffer=nl.sbuf)
            for i in nl.affine_range(4):
                values[i] = nl.load(v[nl.ds(j * 512 + i * 128, 128), :])
            blocks._flash_attention_core(
                queries,
                keys,
                values,
                q_h_per_k_h=1,
                seqlen_q=length,
                o_buffer=o,
                l_buffer=l,
                m_buffer=m,
                batch_id=0,
                head_id=0,
                gqa_head_idx=0,
                q_tile_idx=tile,
                local_k_large_tile_idx=j,
                kernel_dtype=nl.bfloat16,
                acc_type=np.dtype(np.float32),
                flash_config=blocks.FlashConfig(seq_tile_size=512),
                use_causal_mask=causal,
                initialize=j == 0,
                B_D_SIZE=d,
            )
        last = tiles - 1
        scale = nl.exp(nl.subtract(m[last, :, :], l[last, :, :]))
        nl.store(out, value=nl.multiply(o[last, :, :], scale))
        nl.store(log_sum, value=l[last, :, :])
        return out, log_sum

    return kernel


def gradient_of_one_tile(blocks: ModuleType, tile: int, causal: bool) -> Any:
    """dq (d, 128), dk and dv (d, 512) of tile ``tile`` of 128 queries over 512 keys, all of them (d, tokens)."""

    @nki.jit
    def kernel(q, k, v, dy, log_sum, products):  # type: ignore[no-untyped-def]
        d = q.shape[0]
        dq = nl.ndarray((d, 128), dtype=nl.float32, buffer=nl.shared_hbm)
        dk = nl.ndarray((d, 512), dtype=nl.float32, buffer=nl.shared_hbm)
        dv = nl.ndarray((d, 512), dtype=nl.float32, buffer=nl.shared_hbm)

        def loaded(x, columns):  # type: ignore[no-untyped-def]
            held = nl.ndarray((1, par_dim(d), columns), dtype=nl.float32, buffer=nl.sbuf)
            held[0] = nl.load(x)
            return held

        queries, keys, values, outer = loaded(q, 128), loaded(k, 512), loaded(v, 512), loaded(dy, 128)
        queries[0] = nl.multiply(queries[0], d**-0.5)
        turned = nl.ndarray((4, 1, par_dim(128), d), dtype=nl.float32, buffer=nl.sbuf)
        for i in nl.affine_range(4):
            turned[i, 0] = nisa.nc_transpose(keys[0, :, nl.ds(i * 128, 128)])
        bias = nl.ndarray((1, par_dim(128), 1), dtype=nl.float32, buffer=nl.sbuf)
        bias[0] = nl.multiply(nl.load(log_sum), -1.0)
        sums = nl.ndarray((1, par_dim(128), 1), dtype=nl.float32, buffer=nl.sbuf)
        sums[0] = nl.load(products)
        found_dk = nl.zeros((1, par_dim(d), 512), dtype=nl.float32, buffer=nl.psum)
        found_dv = nl.zeros((1, par_dim(d), 512), dtype=nl.float32, buffer=nl.psum)
        found_dq = nl.zeros((1, 1, par_dim(d), 128), dtype=nl.float32, buffer=nl.sbuf)
        for j in nl.affine_range(1):
            blocks._flash_attn_bwd_core(
                queries,
                keys,
                turned,
                values,
                outer,
                found_dk,
                found_dv,
                found_dq,
                bias,
                sums,
                0,
                j,
                512,
                512,
                d,
                causal,
                nl.float32,
                nl.float32,
                d**-0.5,
                None,
                0.0,
                None,
                global_i_q_seq_tile=tile,
                global_i_k_seq_tile=0,
            )
        nl.store(dq, value=found_dq[0, 0])
        nl.store(dk, value=found_dk[0])
        nl.store(dv, value=found_dv[0])
        return dq, dk, dv

    return kernel


def scales_by_partition(scales: Any, tiles: int, inner: int) -> Any:
    """What ``load_gate_up_proj_scales`` of the team's ``blockwise_mm.py`` means to load: (2, tiles, 128, 1)."""
    out = nl.ndarray((2, tiles, par_dim(128), 1), dtype=nl.float32, buffer=nl.sbuf)
    for half in nl.affine_range(2):
        for tile in nl.affine_range(tiles):
            row = nl.arange(128)[:, None] + 128 * tile
            loaded = nl.load(scales[0, 0, row + inner * half], mask=row < inner)
            out[half, tile, row - 128 * tile, 0] = nl.copy(loaded, mask=row < inner)
    return out


def on_tiles(part: Callable[..., Any]) -> Any:
    """A kernel that loads its arguments, calls ``part`` with the tiles, and stores the tile that it returns.

    With a launch grid, each program takes its share of the columns of the first argument.
    """

    @nki.jit
    def kernel(x, others=()):  # type: ignore[no-untyped-def]
        out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
        shares = nl.num_programs(0) if nl.program_ndim() else 1
        width = x.shape[1] // shares
        first = nl.program_id(0) * width if shares > 1 else 0
        found = part(nl.load(x[:, nl.ds(first, width)]), *(nl.load(other) for other in others))
        nl.store(out[:, nl.ds(first, width)], value=found)
        return out

    return kernel


def written(function: Any, *outputs: tuple[int, ...], grid: Any = None, dtype: Any = np.float32) -> Any:
    """Runs a kernel of the old style, whose last parameters are its outputs; they start as NaNs."""

    def run(*inputs: Any, **options: Any) -> Any:
        kernel = nki.jit(getattr(function, "func", function), mode="trace", kernel_return=False)
        made = [np.full(shape, np.nan, np.float32).astype(dtype) for shape in outputs]
        (kernel if grid is None else kernel[grid])(*inputs, *made, **options)
        return made[0] if len(made) == 1 else made

    return run
