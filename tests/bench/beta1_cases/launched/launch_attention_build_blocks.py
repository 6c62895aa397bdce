"""Kernels around the building blocks of attention: they bring tiles in and out.

The tiles for dropout, which does not happen, only tell what they are.
"""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np
from attention_build_blocks import FlashConfig, _flash_attention_core, _flash_attn_bwd_core
from neuronxcc.nki.language import par_dim


@nki.jit
def attention_of_tile(q, k, v, tile, causal):
    """Tile ``tile`` of 128 queries (d, 128) over keys (d, n * 512): its rows of the output, and of the log sum."""
    d, length = k.shape
    tiles = length // 512
    out = nl.ndarray((128, d), dtype=nl.float32, buffer=nl.shared_hbm)
    log_sum = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    o = nl.zeros((tiles, par_dim(128), d), dtype=nl.float32, buffer=nl.sbuf)
    l = nl.zeros((tiles, par_dim(128), 1), dtype=nl.float32, buffer=nl.sbuf)  # noqa: E741
    m = nl.zeros((tiles, par_dim(128), 1), dtype=nl.float32, buffer=nl.sbuf)
    queries = nl.ndarray((par_dim(d), 128), dtype=nl.bfloat16, buffer=nl.sbuf)
    queries[...] = nl.multiply(nl.load(q), d**-0.5)
    rate = nl.zeros((par_dim(128), 1), dtype=nl.float32, buffer=nl.sbuf)
    seed = nl.zeros((par_dim(1), 1), dtype=nl.int32, buffer=nl.sbuf)
    for j in nl.static_range(tiles):
        keys = nl.ndarray((par_dim(d), 512), dtype=nl.bfloat16, buffer=nl.sbuf)
        keys[...] = nl.load(k[:, nl.ds(j * 512, 512)])
        values = nl.ndarray((4, par_dim(128), d), dtype=nl.bfloat16, buffer=nl.sbuf)
        for i in nl.affine_range(4):
            values[i] = nl.load(v[nl.ds(j * 512 + i * 128, 128), :])
        _flash_attention_core(
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
            flash_config=FlashConfig(seq_tile_size=512),
            use_causal_mask=causal,
            initialize=j == 0,
            B_D_SIZE=d,
            dropout_p_tensor=rate,
            seed_tensor=seed,
        )
    last = tiles - 1
    scale = nl.exp(nl.subtract(m[last, :, :], l[last, :, :]))
    nl.store(out, value=nl.multiply(o[last, :, :], scale))
    nl.store(log_sum, value=l[last, :, :])
    return out, log_sum


def loaded(x, columns):
    """(d, ``columns``) of HBM as the one block of a tensor."""
    held = nl.ndarray((1, par_dim(x.shape[0]), columns), dtype=nl.float32, buffer=nl.sbuf)
    held[0] = nl.load(x)
    return held


@nki.jit
def gradient_of_tile(q, k, v, dy, log_sum, products, tile, causal):
    """dq (d, 128), dk and dv (d, 512) of tile ``tile`` of 128 queries over 512 keys, all of them (d, tokens)."""
    d = q.shape[0]
    dq = nl.ndarray((d, 128), dtype=nl.float32, buffer=nl.shared_hbm)
    dk = nl.ndarray((d, 512), dtype=nl.float32, buffer=nl.shared_hbm)
    dv = nl.ndarray((d, 512), dtype=nl.float32, buffer=nl.shared_hbm)
    queries = loaded(q, 128)
    keys = loaded(k, 512)
    values = loaded(v, 512)
    outer = loaded(dy, 128)
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
    rate = nl.zeros((par_dim(128), 1), dtype=nl.float32, buffer=nl.sbuf)
    seed = nl.zeros((par_dim(1), 1), dtype=nl.int32, buffer=nl.sbuf)
    for j in nl.affine_range(1):
        _flash_attn_bwd_core(
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
            seed,
            0.0,
            rate,
            global_i_q_seq_tile=tile,
            global_i_k_seq_tile=0,
        )
    nl.store(dq, value=found_dq[0, 0])
    nl.store(dk, value=found_dk[0])
    nl.store(dv, value=found_dv[0])
    return dq, dk, dv
