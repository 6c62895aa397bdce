"""A loop whose trip count stands in a tile, and accesses whose place another tile counts."""

import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def first_tiles(x, bias, count):
    """(T, P, F), (N, F) and a count (1, 1): the sum of the first ``count`` tiles, and the last row of bias that it came to."""
    tiles, rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    picked = nl.ndarray((1, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    total = nl.zeros((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    place = nl.zeros((1, 1), dtype=nl.int32)
    assert len(count.shape) > 1, "rewritten for 2 dimensions at least"
    trips = nl.ndarray(count.shape, dtype=count.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=trips, src=count)
    assert len(bias.shape) == 2, "rewritten for 2 dimensions"
    trips_register = nisa.register_alloc()
    nisa.register_load(trips_register, trips)
    for _ in nl.dynamic_range(0, trips_register, 1):
        x_tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(
            dst=x_tile, src=x.ap(pattern=[[columns, rows], [1, columns]], scalar_offset=place, indirect_dim=0)
        )
        nisa.tensor_tensor(dst=total, data1=total, data2=x_tile, op=nl.add)
        row = nl.ndarray((columns, 1), dtype=bias.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=row, src=bias.ap(pattern=[[1, columns]], scalar_offset=place, indirect_dim=0))
        nisa.dma_copy(dst=picked[0], src=row)
        nisa.tensor_scalar(dst=place, data=place, op0=nl.add, operand0=1)
    nisa.dma_copy(dst=out, src=total)
    return out, picked
