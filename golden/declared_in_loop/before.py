"""Allocated tiles declared in loops of depth one and two, and the same tile hoisted for double buffering."""

from neuronxcc import nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.language as nl
from neuronxcc.nki.language import par_dim


@nki.jit
def serial_and_buffered(x):
    """(T, 2, P, F) times six."""
    tiles, halves, rows, columns = x.shape
    size = columns * 4
    out = nl.ndarray((tiles, halves, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for t in nl.affine_range(tiles):
        # two tiles that take turns: the halves overlap in time
        tile = nl.ndarray((2, par_dim(rows), columns), dtype=nl.float32,
                          buffer=ncc.sbuf.mod_alloc(base_addr=128, num_free_tiles=(2,)))
        for h in nl.affine_range(2):
            tile[h] = nl.load(x[t, h])
            # one tile for all passes: this part runs one pass after the other
            work = nl.ndarray((par_dim(rows), columns), dtype=nl.float32,
                              buffer=ncc.sbuf.mod_alloc(base_addr=128 + 2 * size))
            work[...] = nl.multiply(tile[h], 3.0)
            tile[h] = nl.add(work, work)
            nl.store(out[t, h], value=tile[h])
    return out
