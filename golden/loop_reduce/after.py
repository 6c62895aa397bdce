"""Tiles added up over a loop by nl.loop_reduce."""

import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def total(x):
    """(T, P, F) gives (P, F): the sum over the tiles."""
    tiles, rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    total_tile = nl.zeros((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    for t in nl.affine_range(tiles):
        tile = nl.load(x[t])
        nisa.tensor_tensor(dst=total_tile, data1=total_tile, data2=tile, op=nl.add)
    nl.store(out, value=total_tile)
    return out
