"""Subscripts with three index vectors, and with an integer among them."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def second_plane_first(x):
    """(P, 3, F) gives (P, 2, F): planes 1 and 2, then plane 1 is replaced by plane 0 plus itself."""
    rows, planes, columns = x.shape
    out = nl.ndarray((rows, 2, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, 2, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x[:, 1:3, :])
    first = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=first, src=x[:, 0, :])
    nisa.tensor_tensor(dst=tile[:, 0, :], data1=first, data2=tile[:, 0, :], op=nl.add)
    nisa.dma_copy(dst=out, src=tile)
    return out
