"""A kernel that calls functions that are kernels themselves."""

import nki
import nki.language as nl
import nki.isa as nisa


def clipped(tile, low, high):
    """The elements of a tile, cut to [low, high]."""
    above = nl.ndarray(tile.shape, dtype=tile.dtype, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=above, data=tile, op0=nl.maximum, operand0=low)
    minimum_tile = nl.ndarray(tile.shape, dtype=tile.dtype, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=minimum_tile, data=above, op0=nl.minimum, operand0=high)
    return minimum_tile


def store_scaled(dst, tile, factor):
    scaled = nl.ndarray(tile.shape, dtype=tile.dtype, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=scaled, data=tile, op0=nl.multiply, operand0=factor)
    nisa.dma_copy(dst=dst, src=scaled)


@nki.jit
def limited(x, low, high):
    """(T, P, F), cut to [low, high] and divided by its width."""
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for t in nl.affine_range(tiles):
        tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[t])
        small = clipped(tile, low, high)
        store_scaled(out[t], small, 1.0 / (high - low))
    return out
