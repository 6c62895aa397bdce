"""Elements of each row by their positions."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def picked(x, positions):
    """(P, F) and (P, N) give (P, N): x[p, positions[p, n]]."""
    rows, _ = x.shape
    _, count = positions.shape
    out = nl.ndarray((rows, count), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    index = nl.ndarray(
        (positions.shape[0], count), dtype=positions.dtype, buffer=nl.sbuf
    )
    nisa.dma_copy(dst=index, src=positions)
    found = nl.ndarray((positions.shape[0], count), dtype=x.dtype, buffer=nl.sbuf)
    nisa.nc_n_gather(dst=found, data=tile, indices=index)
    nisa.dma_copy(dst=out, src=found)
    return out
