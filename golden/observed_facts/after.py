"""A weighted sum of tiles that are kept in lists: nothing in the source says what a helper finds in them."""

import nki
import nki.language as nl
import nki.isa as nisa


def add_weighted(total, tiles, columns, height, width):
    """Add the first ``width`` columns of each tile to ``total``, times its column of weights."""
    for index in range(min(len(tiles), len(columns))):
        tile = tiles[index]
        column = columns[index]
        multiply_tile = nl.ndarray((height, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=multiply_tile, data=tile[0:height, 0:width], op0=nl.multiply, operand0=column)
        nisa.tensor_tensor(dst=total[0:height, 0:width], data1=total, data2=multiply_tile, op=nl.add)


@nki.jit
def blended(x, weights, width):
    """(T, P, F) and weights (T, P, 1) give (P, width): the sum of all ``x[t, :, :width] * weights[t]``."""
    count, height, _ = x.shape
    out = nl.ndarray((height, width), dtype=nl.float32, buffer=nl.shared_hbm)
    tiles = []
    columns = []
    for t in nl.static_range(count):
        tile = nl.load(x[t])
        column = nl.load(weights[t])
        tiles.append(tile)
        columns.append(column)
    total = nl.zeros((height, width), dtype=nl.float32, buffer=nl.sbuf)
    add_weighted(total, tiles, columns, height, width)
    nl.store(out, value=total)
    return out
