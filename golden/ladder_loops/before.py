"""Loops whose trip counts are only known when the kernel runs."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def grown_sum(x, count):
    """(T, P, F) and a count (1, 1): the first ``count`` tiles added up, doubled ``count`` times."""
    tiles, rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    left = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=left, src=count)
    total = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=total, value=0.0)

    limit = nisa.register_alloc()
    nisa.register_load(limit, left)
    for t in nl.dynamic_range(0, limit, 1):
        tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x.ap([[columns, rows], [1, columns]], offset=0, scalar_offset=t, indirect_dim=0))
        nisa.tensor_tensor(dst=total, data1=total, data2=tile, op=nl.add)

    remaining = nisa.register_alloc(0)
    nisa.register_load(remaining, left)
    while remaining:
        nisa.tensor_scalar(dst=total, data=total, op0=nl.multiply, operand0=2.0)
        nisa.tensor_scalar(dst=left, data=left, op0=nl.subtract, operand0=1)
        nisa.register_load(remaining, left)

    nisa.dma_copy(dst=out, src=total)
    return out
