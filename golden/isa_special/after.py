"""Instructions whose result has a shape of its own."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def ranked(x):
    """(P, F) gives the 8 largest of each row and where they are, mean and variance, and x where it beats its rank."""
    rows, columns = x.shape
    best_out = nl.ndarray((rows, 8), dtype=nl.float32, buffer=nl.shared_hbm)
    where_out = nl.ndarray((rows, 8), dtype=nl.uint32, buffer=nl.shared_hbm)
    stats_out = nl.ndarray((rows, 2), dtype=nl.float32, buffer=nl.shared_hbm)
    out = nl.ndarray((columns, rows), dtype=nl.float32, buffer=nl.shared_hbm)

    tile = nl.load(x)
    best = nl.ndarray((rows, 8), dtype=x.dtype, buffer=nl.sbuf)
    nisa.max8(dst=best, src=tile)
    where = nl.ndarray((rows, 8), dtype=nl.uint32, buffer=nl.sbuf)
    nisa.nc_find_index8(dst=where, data=tile, vals=best)
    bn_stats_tile = nl.ndarray((rows, 6), dtype=x.dtype, buffer=nl.sbuf)
    nisa.bn_stats(dst=bn_stats_tile, data=tile)
    stats = nl.ndarray((rows, 2), dtype=x.dtype, buffer=nl.sbuf)
    nisa.bn_aggr(dst=stats, data=bn_stats_tile)

    # 3 for each partition, 2 for each column, from 1
    numbers = nl.ndarray((rows, columns), dtype=nl.int32, buffer=nl.sbuf)
    nisa.iota(dst=numbers, pattern=[[2, columns]], offset=1, channel_multiplier=3)
    kept = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=kept, src=numbers)
    greater_tile = nl.ndarray((rows, columns), dtype=nl.uint8, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=greater_tile, data1=tile, data2=kept, op=nl.greater)
    nisa.tensor_copy_predicated(dst=kept, src=tile, predicate=greater_tile)

    turned = nl.ndarray((columns, rows), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_transpose(
        dst=turned.ap(pattern=[[rows, columns], [1, 1], [1, 1], [1, rows]]),
        src=kept.ap(pattern=[[columns, rows], [1, 1], [1, 1], [1, columns]]),
        axes=(3, 1, 2, 0),
    )
    nl.store(best_out, value=best)
    nl.store(where_out, value=where)
    nl.store(stats_out, value=stats)
    nl.store(out, value=turned)
    return best_out, where_out, stats_out, out
