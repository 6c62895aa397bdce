"""A kernel that calls functions that are kernels themselves."""

import nki
import nki.language as nl


def clipped(tile, low, high):
    """The elements of a tile, cut to [low, high]."""
    above = nl.maximum(tile, low, dtype=tile.dtype)
    minimum_tile = nl.minimum(above, high, dtype=tile.dtype)
    return minimum_tile


def store_scaled(dst, tile, factor):
    scaled = nl.multiply(tile, factor, dtype=tile.dtype)
    nl.store(dst, value=scaled)


@nki.jit
def limited(x, low, high):
    """(T, P, F), cut to [low, high] and divided by its width."""
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for t in nl.affine_range(tiles):
        tile = nl.load(x[t])
        small = clipped(tile, low, high)
        store_scaled(out[t], small, 1.0 / (high - low))
    return out
