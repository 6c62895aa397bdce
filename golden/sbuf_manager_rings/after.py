"""Two tiles that iterations take turns on: one is loaded while the other is stored."""

import nki
import nki.isa as nisa
import nki.language as nl
from nkilib.core.utils.allocator import SbufManager


@nki.jit
def shifted_in_turns(x, shift):
    """(T, P, F) plus (P, 1), and the sum of all tiles."""
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles + 1, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    sbm = SbufManager(0, nl.tile_size.sbuf_fmax_bytes)
    sbm.open_scope()
    offset = sbm.alloc_stack((rows, 1), dtype=nl.float32, name="offset")
    nisa.dma_copy(dst=offset, src=shift)
    total = sbm.alloc_stack((rows, columns), dtype=nl.float32, name="total")
    nisa.memset(dst=total, value=0.0)
    sbm.open_scope(interleave_degree=2)
    for t in nl.sequential_range(tiles):
        tile = sbm.alloc_stack((rows, columns), dtype=nl.float32)
        nisa.dma_copy(dst=tile, src=x[t])
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.add, operand0=offset)
        nl.store(out[t], value=tile)
        nisa.tensor_tensor(dst=total, data1=total, data2=tile, op=nl.add)
        sbm.increment_section()
    sbm.close_scope()
    nl.store(out[tiles], value=total)
    sbm.close_scope()
    return out
