"""Instructions whose result has a shape of its own."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def ranked(x):
    """(P, F) gives the 8 largest of each row and where they are, mean and variance, and x where it beats its rank."""
    rows, columns = x.shape
    best_out = nl.ndarray((rows, 8), dtype=nl.float32, buffer=nl.shared_hbm)
    where_out = nl.ndarray((rows, 8), dtype=nl.uint32, buffer=nl.shared_hbm)
    stats_out = nl.ndarray((rows, 2), dtype=nl.float32, buffer=nl.shared_hbm)
    out = nl.ndarray((columns, rows), dtype=nl.float32, buffer=nl.shared_hbm)

    tile = nl.load(x)
    best = nisa.max8(src=tile)
    where = nisa.nc_find_index8(data=tile, vals=best)
    stats = nisa.bn_aggr(nisa.bn_stats(tile))

    # 3 for each partition, 2 for each column, from 1
    i_p, i_f = nl.mgrid[0:rows, 0:columns]
    numbers = nisa.iota(3 * i_p + 2 * i_f + 1, dtype=nl.int32)
    kept = nl.copy(numbers, dtype=nl.float32)
    nisa.tensor_copy_predicated(src=tile, dst=kept, predicate=nl.greater(tile, kept))

    turned = nisa.dma_transpose(kept)
    nl.store(best_out, value=best)
    nl.store(where_out, value=where)
    nl.store(stats_out, value=stats)
    nl.store(out, value=turned)
    return best_out, where_out, stats_out, out
