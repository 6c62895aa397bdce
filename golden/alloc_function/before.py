"""Tiles stacked from the top of a region downwards, by an allocation function."""

import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.language as nl
from neuronxcc.nki.language import par_dim

REGION_END = 8192


def from_the_top(idx, pdim_size, fdim_size):
    slot, = idx  # one block dimension
    return (0, REGION_END - (slot + 1) * fdim_size)


@nki.jit
def doubled(x):
    """(B, P, F) times two."""
    blocks, rows, columns = x.shape
    out = nl.ndarray((blocks, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((blocks, par_dim(rows), columns), dtype=nl.bfloat16,
                      buffer=ncc.sbuf.alloc(from_the_top))
    for b in nl.affine_range(blocks):
        tile[b] = nl.load(x[b])
    for b in nl.affine_range(blocks):
        tile[b] = nl.add(tile[b], tile[b])
        nl.store(out[b], value=tile[b])
    return out
