"""Tiles of 32 partitions, stacked along the partitions."""

import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.language as nl


@nki.jit
def stacked_quarters(x):
    """(B, 32, F): a copy through quarters of SBUF."""
    blocks, rows, columns = x.shape
    out = nl.ndarray((blocks, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    # a block has a quarter of the partitions, and two tiles side by side in it
    quarter = nl.ndarray((blocks, 2, nl.par_dim(rows), columns), dtype=nl.float32,
                         buffer=ncc.sbuf.mod_alloc(base_addr=64, num_par_tiles=(4, 1), num_free_tiles=(1, 2)))
    for b in nl.affine_range(blocks):
        quarter[b, 0] = nl.load(x[b])
        quarter[b, 1] = nl.copy(quarter[b, 0])
        nl.store(out[b], value=quarter[b, 1])
    return out
