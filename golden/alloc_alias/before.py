"""Row sums by a matrix product, with short names for the allocators."""

import numpy as np
from neuronxcc import nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

sb_mod = nki.compiler.sbuf.mod_alloc
psum_mod = nki.compiler.psum.mod_alloc


@nki.jit
def column_totals(x):
    """(B, P, F) gives (B, F, 1): each column of each block added up."""
    blocks, rows, columns = x.shape
    out = nl.ndarray((blocks, columns, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    ones = nl.ndarray((nl.par_dim(rows), 1), dtype=np.float32, buffer=sb_mod(base_addr=0))
    ones[...] = 1.0
    tile = nl.ndarray((blocks, nl.par_dim(rows), columns), dtype=np.float32,
                      buffer=sb_mod(base_addr=32, num_free_tiles=(2,)))
    total = nl.ndarray((blocks, nl.par_dim(columns), 1), dtype=np.float32,
                       buffer=sb_mod(base_addr=4, num_free_tiles=(2,)))
    summed = nl.ndarray((blocks, nl.par_dim(columns), 1), dtype=np.float32,
                        buffer=psum_mod(base_bank=5, num_bank_tiles=(2,)))
    for b in nl.affine_range(blocks):
        tile[b] = nl.load(x[b])
        summed[b] = nisa.nc_matmul(tile[b], ones)
        total[b] = nl.copy(summed[b])
        nl.store(out[b], value=total[b])
    return out
