"""A kernel that returns inside its loops: Beta 1 traced their bodies once, so it returned when they were done."""

import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def shifted(x):
    """(T, P, F) plus one, tile by tile."""
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for t in nl.affine_range(tiles):
        tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[t])
        for half in nl.affine_range(2):
            width = columns // 2
            part = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.sbuf)
            nisa.tensor_scalar(
                dst=part, data=tile[:, half * width : (half + 1) * width], op0=nl.add, operand0=1.0
            )
            nisa.dma_copy(dst=out[t, :, half * width : (half + 1) * width], src=part)
            # both halves are stored by now
    return out
