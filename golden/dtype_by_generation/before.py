"""Tiles turned around on TensorE, which wants another PSUM data type on each generation."""

import numpy as np
from neuronxcc import nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
from neuronxcc.nki.language import par_dim


@nki.jit
def turned(x):
    """(T, 128, F) gives (T, F, 128)."""
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, columns, rows), dtype=x.dtype, buffer=nl.shared_hbm)
    identity = nl.ndarray((par_dim(rows), rows), dtype=nl.bfloat16, buffer=ncc.sbuf.mod_alloc(base_addr=0))
    identity[...] = nl.load(nl.shared_constant(np.identity(128, dtype=np.int8), dtype=nl.bfloat16))
    tile = nl.ndarray((par_dim(rows), columns), dtype=nl.bfloat16, buffer=ncc.sbuf.mod_alloc(base_addr=rows * 2))
    back = nl.ndarray((par_dim(columns), rows), dtype=nl.bfloat16,
                      buffer=ncc.sbuf.mod_alloc(base_addr=(rows + columns) * 2))
    for t in nl.affine_range(tiles):
        tile[...] = nl.load(x[t])
        # float32 on gen2, the type of the input from gen3 on
        if nisa.get_nc_version() >= nisa.nc_version.gen3:
            flipped = nl.ndarray((2, par_dim(columns), rows), dtype=nl.bfloat16,
                                 buffer=ncc.psum.mod_alloc(base_bank=3, num_bank_tiles=(1,)))
        else:
            flipped = nl.ndarray((2, par_dim(columns), rows), dtype=np.float32,
                                 buffer=ncc.psum.mod_alloc(base_bank=3, num_bank_tiles=(2,)))
        for again in nl.sequential_range(2):
            flipped[again] = nisa.nc_matmul(tile, identity, is_transpose=True)
            back[...] = nl.copy(flipped[again], dtype=nl.bfloat16)
        nl.store(out[t], value=back)
    return out
