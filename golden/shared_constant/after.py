"""Matrices turned around by a product with an identity."""

import nki
import nki.isa as nisa
import nki.language as nl
import nki.meta.tensor as ntensor


@nki.jit
def transposed(x):
    """(T, 128, F) gives (T, F, 128)."""
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, columns, rows), dtype=nl.float32, buffer=nl.shared_hbm)
    constant = nl.shared_constant(ntensor.identity(128, dtype=nl.int8))
    identity = nl.ndarray((128, 128), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=identity, src=constant)
    constant_2 = nl.shared_constant(ntensor.identity(128, dtype=nl.int8))
    other = nl.load(constant_2, dtype=nl.bfloat16)
    for t in nl.affine_range(tiles):
        tile = nl.load(x[t])
        once = nl.ndarray((columns, 128), dtype=nl.float32, buffer=nl.psum)
        nisa.nc_matmul(dst=once, stationary=tile, moving=identity)
        kept = nl.ndarray((columns, 128), dtype=nl.bfloat16, buffer=nl.sbuf)
        nisa.tensor_copy(dst=kept, src=once)
        twice = nl.ndarray((columns, 128), dtype=nl.float32, buffer=nl.psum)
        nisa.nc_matmul(dst=twice, stationary=tile, moving=other)
        again = nl.ndarray((columns, 128), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(dst=again, src=twice)
        both = nl.add(kept, again)
        nl.store(out[t], value=both)
    return out
