"""How many tiles there are, in the spellings that people use: where one covers the sizes, no tile is empty."""

import math

import nki
import nki.language as nl
import nki.isa as nisa
from math import ceil as round_up


def div_ceil(n, d):
    """How many times d goes into n, the last time in part."""
    return (n + d - 1) // d


def tiles_of(n, *, size=128):
    return round_up(n / size)


@nki.jit
def doubled(x):
    """(M, N): twice x, in tiles that a function counts."""
    m, n = x.shape
    out = nl.ndarray((m, n), dtype=x.dtype, buffer=nl.shared_hbm)
    columns = div_ceil(n, 96)
    for r in nl.affine_range(tiles_of(m)):
        i_p_size = min(128, m - r * 128)
        for c in nl.affine_range(columns):
            i_f_size = min(96, n - c * 96)
            tile = nl.ndarray((128, 96), dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile[0:i_p_size, 0:i_f_size], src=x[nl.ds(r * 128, i_p_size), nl.ds(c * 96, i_f_size)])
            tile_scaled = nl.ndarray((128, 96), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_scalar(
                dst=tile_scaled[0:i_p_size, 0:i_f_size],
                data=tile[0:i_p_size, 0:i_f_size],
                op0=nl.multiply,
                operand0=2.0,
            )
            nisa.dma_copy(
                dst=out[nl.ds(r * 128, i_p_size), nl.ds(c * 96, i_f_size)], src=tile_scaled[0:i_p_size, 0:i_f_size]
            )
    return out


@nki.jit
def halved(x, size):
    """(M, N): half of x, in tiles of any size."""
    m, n = x.shape
    out = nl.ndarray((m, n), dtype=x.dtype, buffer=nl.shared_hbm)
    for r in nl.affine_range((m - 1) // size + 1):
        i_p_size = min(size, m - r * size)
        tile = nl.ndarray((size, n), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile[0:i_p_size, :], src=x[nl.ds(r * size, i_p_size), :])
        half = nl.ndarray((size, n), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=half[0:i_p_size, :], data=tile[0:i_p_size, :], op0=nl.multiply, operand0=0.5)
        nisa.dma_copy(dst=out[nl.ds(r * size, i_p_size), :], src=half[0:i_p_size, :])
    return out


@nki.jit
def first_rows(x, rows, size):
    """(M, N): the first rows of x, by numbers that both come from the launch."""
    m, n = x.shape
    out = nl.ndarray((rows, n), dtype=x.dtype, buffer=nl.shared_hbm)
    for r in nl.affine_range(int(math.ceil(rows / size))):
        i_p_size = min(size, rows - r * size)
        tile = nl.ndarray((size, n), dtype=x.dtype, buffer=nl.sbuf)
        if i_p_size > 0:
            nisa.dma_copy(dst=tile[0:i_p_size, :], src=x[nl.ds(r * size, i_p_size), :])
            nisa.dma_copy(dst=out[nl.ds(r * size, i_p_size), :], src=tile[0:i_p_size, :])
    return out


@nki.jit
def negated(x):
    """(M, N): x with the sign changed, in tiles that are no larger than x."""
    m, n = x.shape
    out = nl.ndarray((m, n), dtype=x.dtype, buffer=nl.shared_hbm)
    tiles, size = div_ceil(m, nl.tile_size.pmax), min(m, nl.tile_size.pmax)
    for r in nl.affine_range(tiles):
        i_p_size = min(size, m - r * size)
        tile = nl.ndarray((size, n), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile[0:i_p_size, :], src=x[nl.ds(r * size, i_p_size), :])
        neg_tile = nl.ndarray((size, n), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=neg_tile[0:i_p_size, :], data=tile[0:i_p_size, :], op0=nl.multiply, operand0=-1.0)
        nisa.dma_copy(dst=out[nl.ds(r * size, i_p_size), :], src=neg_tile[0:i_p_size, :])
    return out
