"""A kernel whose addresses are ignored: the way to look for a lifetime conflict."""

import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.language as nl


@ncc.force_auto_alloc
@nki.jit
def squared(x):
    """(T, P, F) times itself. With the addresses taken at their word, all tiles would lie on one."""
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((tiles, nl.par_dim(rows), columns), dtype=x.dtype,
                      buffer=ncc.sbuf.mod_alloc(base_addr=0, num_free_tiles=(1,)))
    for t in nl.affine_range(tiles):
        tile[t] = nl.load(x[t])
    for t in nl.affine_range(tiles):
        tile[t] = nl.multiply(tile[t], tile[t])
        nl.store(out[t], value=tile[t])
    return out
