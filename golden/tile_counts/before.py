"""How many tiles there are, in the spellings that people use: where one covers the sizes, no tile is empty."""

import math

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
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
        for c in nl.affine_range(columns):
            i_p, i_f = nl.mgrid[0:128, 0:96]
            inside = (r * 128 + i_p < m) & (c * 96 + i_f < n)
            tile = nl.load(x[r * 128 + i_p, c * 96 + i_f], mask=inside)
            nl.store(out[r * 128 + i_p, c * 96 + i_f], value=nl.multiply(tile, 2.0, mask=inside), mask=inside)
    return out


@nki.jit
def halved(x, size):
    """(M, N): half of x, in tiles of any size."""
    m, n = x.shape
    out = nl.ndarray((m, n), dtype=x.dtype, buffer=nl.shared_hbm)
    for r in nl.affine_range((m - 1) // size + 1):
        i_p, i_f = nl.mgrid[0:size, 0:n]
        tile = nl.load(x[r * size + i_p, i_f], mask=r * size + i_p < m)
        half = nl.multiply(tile, 0.5, mask=r * size + i_p < m)
        nl.store(out[r * size + i_p, i_f], value=half, mask=r * size + i_p < m)
    return out


@nki.jit
def first_rows(x, rows, size):
    """(M, N): the first rows of x, by numbers that both come from the launch."""
    m, n = x.shape
    out = nl.ndarray((rows, n), dtype=x.dtype, buffer=nl.shared_hbm)
    for r in nl.affine_range(int(math.ceil(rows / size))):
        i_p, i_f = nl.mgrid[0:size, 0:n]
        tile = nl.load(x[r * size + i_p, i_f], mask=r * size + i_p < rows)
        nl.store(out[r * size + i_p, i_f], value=tile, mask=r * size + i_p < rows)
    return out


@nki.jit
def negated(x):
    """(M, N): x with the sign changed, in tiles that are no larger than x."""
    m, n = x.shape
    out = nl.ndarray((m, n), dtype=x.dtype, buffer=nl.shared_hbm)
    tiles, size = div_ceil(m, nl.tile_size.pmax), min(m, nl.tile_size.pmax)
    for r in nl.affine_range(tiles):
        i_p, i_f = nl.mgrid[0:size, 0:n]
        tile = nl.load(x[r * size + i_p, i_f], mask=r * size + i_p < m)
        nl.store(
            out[r * size + i_p, i_f], value=nl.multiply(tile, -1.0, mask=r * size + i_p < m), mask=r * size + i_p < m
        )
    return out
