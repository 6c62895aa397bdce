"""The tile that an index names, copied in SBUF and to HBM."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def chosen(x, which):
    """(P, T * F) and an index (1, 1) give (P, 2 F): part which, and part 1."""
    rows, columns = x.shape
    width = columns // 4
    out = nl.ndarray((rows, 2 * width), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    index = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=index, src=which)
    nisa.tensor_scalar(dst=index, data=index, op0=nl.multiply, operand0=width)
    start = nisa.register_alloc(0)
    nisa.register_load(start, index)
    part = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(
        dst=part, src=tile.ap([[columns, rows], [1, width]], scalar_offset=start, indirect_dim=1)
    )
    nisa.dma_copy(dst=out[0:rows, 0:width], src=part)
    nisa.register_move(start, src=nisa.register_alloc(width))
    nisa.tensor_copy(dst=part, src=tile.ap([[columns, rows], [1, width]], scalar_offset=start, indirect_dim=1))
    nisa.dma_copy(dst=out[0:rows, width : 2 * width], src=part)
    return out
