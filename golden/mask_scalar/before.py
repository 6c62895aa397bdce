"""Instructions under a condition on the loop variable."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def alternating(x, limit):
    """(T, P, F): tiles from ``limit`` on are doubled, the first one is written with ones."""
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for t in nl.affine_range(tiles):
        tile = nl.ndarray((nl.par_dim(rows), columns), dtype=x.dtype, buffer=nl.sbuf)
        tile[...] = nl.load(x[t])
        late = t >= limit
        tile[...] = nl.add(tile, tile, mask=late)
        tile[...] = nisa.memset((rows, columns), value=1.0, dtype=x.dtype, mask=(t < 1))
        nl.store(out[t], value=tile)
    return out
