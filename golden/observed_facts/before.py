"""A weighted sum of tiles that are kept in lists: nothing in the source says what a helper finds in them."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def add_weighted(total, tiles, columns, height, width):
    """Add the first ``width`` columns of each tile to ``total``, times its column of weights."""
    rows = nl.arange(height)[:, None]
    first = nl.arange(width)[None, :]
    for tile, column in zip(tiles, columns):
        total[rows, first] = nl.add(total, nl.multiply(tile[rows, first], column, dtype=nl.float32))


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
