"""Attention for one head a program, with every address chosen by hand."""

import math

import nki
import nki.isa as nisa
import nki.language as nl
import nki.meta.tensor as ntensor

ROWS = 128
KEYS = 256


def bank_of(bank_map, idx, pdim_size, fdim_size):
    return (bank_map[idx[0]], 0, 0)


@nki.jit
def softmax_attention(q, k, v):
    """(H, D, S) queries and keys and (H, S, D) values give (H, S, D): softmax(q.T @ k / sqrt(D)) @ v."""
    # nki-migrate NKI016: 'softmax_attention' runs on a launch grid of one axis; the grid of Beta 2 is a number of cores (1 or 2)
    heads, d, seq = q.shape
    key_tiles, value_tiles, pairs = seq // KEYS, seq // ROWS, seq // ROWS // 2
    out = nl.ndarray((heads, seq, d), dtype=q.dtype, buffer=nl.shared_hbm)
    head = nl.program_id(axis=0)
    work = nl.bfloat16
    itemsize = 2

    addr = 0
    identity = nl.ndarray((ROWS, ROWS), dtype=work, buffer=nl.sbuf, address=(0, addr))
    addr += ROWS * itemsize
    constant = nl.shared_constant(ntensor.identity(ROWS, dtype=nl.int8))
    nisa.dma_copy(dst=identity, src=constant)
    keys = nl.ndarray((d, key_tiles, KEYS), dtype=work, buffer=nl.sbuf, address=(0, addr))
    addr += key_tiles * KEYS * itemsize
    values = nl.ndarray((ROWS, value_tiles, d), dtype=work, buffer=nl.sbuf, address=(0, addr))
    addr += value_tiles * d * itemsize

    for i in nl.affine_range(key_tiles):
        nisa.dma_copy(dst=keys[:, i, :], src=k[head, 0:d, nl.ds(i * KEYS, KEYS)])
    for i in nl.affine_range(value_tiles):
        nisa.dma_copy(dst=values[:, i, :], src=v[head, nl.ds(i * ROWS, ROWS), 0:d])

    addr_before_loop = addr
    for pair in nl.affine_range(pairs):
        addr = addr_before_loop
        queries = nl.ndarray((d, 2, ROWS), dtype=work, buffer=nl.sbuf, address=(0, addr))
        addr += 2 * ROWS * itemsize
        # both halves of a pair share this one: its first reader is its last
        scores = nl.ndarray((ROWS, seq), dtype=nl.float32, buffer=nl.sbuf, address=(0, addr))
        addr += seq * 4
        weights = nl.ndarray((ROWS, 2, seq), dtype=work, buffer=nl.sbuf, address=(0, addr))
        addr += 2 * seq * itemsize
        turned = nl.ndarray((ROWS, 2, seq), dtype=work, buffer=nl.sbuf, address=(0, addr))
        addr += 2 * seq * itemsize
        highest = nl.ndarray((ROWS, 2, key_tiles), dtype=nl.float32, buffer=nl.sbuf, address=(0, addr))
        addr += 2 * key_tiles * 4
        low = nl.ndarray((ROWS, 2, 1), dtype=nl.float32, buffer=nl.sbuf, address=(0, addr))
        addr += 2 * 4
        total = nl.ndarray((ROWS, 2, 1), dtype=nl.float32, buffer=nl.sbuf, address=(0, addr))
        addr += 2 * 4
        result = nl.ndarray((ROWS, 2, d), dtype=q.dtype, buffer=nl.sbuf, address=(0, addr))
        addr += 2 * d * 4

        for g in nl.affine_range(2):
            bank, partition, byte = bank_of(bank_map=(3, 7), idx=(g,), pdim_size=ROWS, fdim_size=d * 4)
            out_psum = nl.ndarray((ROWS, d), dtype=nl.float32, buffer=nl.psum, address=(partition, bank * 2048 + byte))
            nisa.dma_copy(dst=queries[:, g, :], src=q[head, :, nl.ds((pair * 2 + g) * ROWS, ROWS)])
            nisa.tensor_scalar(
                dst=queries[:, g, :], data=queries[:, g, :], op0=nl.multiply, operand0=1.0 / math.sqrt(d)
            )
            for i in nl.affine_range(key_tiles):
                score_psum = nl.ndarray(
                    (ROWS, KEYS), dtype=nl.float32, buffer=nl.psum, address=(0, (g * 4 + i % 4) * 2048)
                )
                nisa.nc_matmul(dst=score_psum, stationary=queries[:, g, :], moving=keys[:, i, :])
                nisa.tensor_scalar_reduce(
                    dst=scores[:, nl.ds(i * KEYS, KEYS)],
                    data=score_psum,
                    op0=nl.multiply,
                    operand0=1.0,
                    reduce_op=nl.maximum,
                    reduce_res=highest[:, g, i : i + 1],
                )
            nisa.tensor_reduce(dst=low[:, g, :], op=nl.maximum, data=highest[:, g, :], axis=1, negate=True)
            nisa.activation_reduce(
                dst=weights[:, g, :],
                op=nl.exp,
                data=scores,
                reduce_op=nl.add,
                reduce_res=total[:, g, :],
                bias=low[:, g, :],
                scale=1.0,
            )
            nisa.reciprocal(dst=total[:, g, :], data=total[:, g, :])
            for i in nl.affine_range(value_tiles):
                turn_psum = nl.ndarray(
                    (ROWS, ROWS), dtype=nl.float32, buffer=nl.psum, address=(0, (g * 4 + i % 4) * 2048)
                )
                nisa.nc_matmul(dst=turn_psum, stationary=weights[:, g, nl.ds(i * ROWS, ROWS)], moving=identity)
                nisa.tensor_copy(dst=turned[:, g, nl.ds(i * ROWS, ROWS)], src=turn_psum)
            for i in nl.affine_range(value_tiles):
                nisa.nc_matmul(dst=out_psum, stationary=turned[:, g, nl.ds(i * ROWS, ROWS)], moving=values[:, i, :])
            nisa.tensor_scalar(dst=result[:, g, :], data=out_psum, op0=nl.multiply, operand0=total[:, g, :])
            nl.store(out[head, nl.ds((pair * 2 + g) * ROWS, ROWS), :], value=result[:, g, :])
    return out
