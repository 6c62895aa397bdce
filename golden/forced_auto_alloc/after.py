"""A kernel whose addresses are ignored: the way to look for a lifetime conflict."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def squared(x):
    """(T, P, F) times itself. With the addresses taken at their word, all tiles would lie on one."""
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = []
    for t in range(tiles):
        tile.append(nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf))
    for t in nl.affine_range(tiles):
        nisa.dma_copy(dst=tile[t], src=x[t])
    for t in nl.affine_range(tiles):
        nisa.tensor_tensor(dst=tile[t], data1=tile[t], data2=tile[t], op=nl.multiply)
        nisa.dma_copy(dst=out[t], src=tile[t])
    return out
