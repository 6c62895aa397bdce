"""Two sections of one scope that take turns: loads go to one while the other is stored."""

import nki
import nki.isa as nisa
import nki.language as nl
from nkilib.core.utils.allocator import SbufManager
from nkilib.core.utils.logging import Logger, LogLevel


@nki.jit
def copied_in_turns(x):
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    manager = SbufManager(256, 8192, logger=Logger("SBM", LogLevel.DEBUG))
    manager.open_scope(interleave_degree=2, name="turns")
    for t in nl.affine_range(tiles):
        tile = manager.alloc_stack((rows, columns), nl.float32)
        nisa.dma_copy(dst=tile, src=x[t])
        nisa.dma_copy(dst=out[t], src=tile)
        manager.increment_section()
    manager.close_scope()
    return out
