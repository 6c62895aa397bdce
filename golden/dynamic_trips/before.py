"""A loop whose trip count stands in a tile, and accesses whose place another tile counts."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
from neuronxcc.nki.typing import scalar


@nki.jit
def first_tiles(x, bias, count):
    """(T, P, F), (N, F) and a count (1, 1): the sum of the first ``count`` tiles, and the last row of bias that it came to."""
    tiles, rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    picked = nl.ndarray((1, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    total = nl.zeros((nl.par_dim(rows), columns), dtype=nl.float32)
    place = nl.zeros((1, 1), dtype=nl.int32)
    trips = nl.load(count)
    for _ in range(scalar(trips)):
        total[...] = nl.add(total, nl.load(x[place[0, 0]]))
        row = nl.load(bias[place[0, 0], nl.ds(0, columns)])
        nl.store(picked[0], value=row)
        place[...] = nl.add(place, 1)
    nl.store(out, value=total)
    return out, picked
