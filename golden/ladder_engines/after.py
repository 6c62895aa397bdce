"""A transpose whose engine had been ignored, and one whose engine ran."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def turned(x):
    """(P, F) bfloat16 gives (F, P) and the (32, 32) in its corner, transposed."""
    rows, columns = x.shape
    out = nl.ndarray((columns, rows), dtype=x.dtype, buffer=nl.shared_hbm)
    corner = nl.ndarray((32, 32), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, columns), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    # into PSUM the Tensor Engine transposed it, whatever was asked for
    acc = nl.ndarray((columns, rows), dtype=nl.bfloat16, buffer=nl.psum)
    nisa.nc_transpose(dst=acc, data=tile)
    done = nl.ndarray((columns, rows), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.tensor_copy(dst=done, src=acc, engine=nisa.engine.scalar)
    nisa.dma_copy(dst=out, src=done)
    small = nl.ndarray((32, 32), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.nc_transpose(dst=small, data=tile[0:32, 0:32], engine=nisa.engine.vector)
    nisa.dma_copy(dst=corner, src=small)
    return out, corner
