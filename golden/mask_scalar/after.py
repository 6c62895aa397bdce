"""Instructions under a condition on the loop variable."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def alternating(x, limit):
    """(T, P, F): tiles from ``limit`` on are doubled, the first one is written with ones."""
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for t in nl.affine_range(tiles):
        tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[t])
        late = t >= limit
        if late:
            nisa.tensor_tensor(dst=tile, data1=tile, data2=tile, op=nl.add)
        if t < 1:
            nisa.memset(dst=tile, value=1.0)
        nl.store(out[t], value=tile)
    return out
