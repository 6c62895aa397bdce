"""More live blocks than physical tiles: the kernel is wrong, and the migration must keep it so."""

import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.language as nl


@nki.jit
def overwritten(x):
    """(T, P, F): the two tiles hold the last blocks when the second loop reads them."""
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((tiles, nl.par_dim(rows), columns), dtype=x.dtype,
                      buffer=ncc.sbuf.mod_alloc(base_addr=0, num_free_tiles=(2, )))
    for t in nl.affine_range(tiles):
        tile[t] = nl.load(x[t])
    for t in nl.affine_range(tiles):
        nl.store(out[t], value=tile[t])
    return out
