"""Sums of a matrix in tiles, in which a mask chooses what counts."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

ROWS = nl.tile_size.pmax
COLUMNS = 256


@nki.jit
def sums(x, floor):
    """(M, N) to the sum of each row, the largest element of each row, and how many elements it has."""
    m, n = x.shape
    total = nl.ndarray((m, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    largest = nl.ndarray((m, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    counted = nl.ndarray((m, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    i_p = nl.arange(ROWS)[:, None]
    i_f = nl.arange(COLUMNS)[None, :]
    for r in range((m + ROWS - 1) // ROWS):
        rows = min(ROWS, m - r * ROWS)
        in_rows = i_p < rows
        row_sum = nl.zeros((ROWS, 1), dtype=nl.float32)
        row_max = nl.full((ROWS, 1), fill_value=floor, dtype=nl.float32)
        row_count = nl.zeros((ROWS, 1), dtype=nl.float32)
        for c in range((n + COLUMNS - 1) // COLUMNS):
            in_columns = i_f < n - c * COLUMNS
            inside = in_rows & in_columns
            tile = nl.load(x[r * ROWS + i_p, c * COLUMNS + i_f], mask=inside, dtype=nl.float32)
            zeros = nl.zeros(tile.shape, dtype=nl.float32)
            safe = nl.where(inside, tile, zeros)
            row_sum[...] = nl.add(row_sum, nl.sum(safe, axis=1, keepdims=True))
            low = nl.where(inside, tile, floor)
            row_max[...] = nl.maximum(row_max, nl.max(low, axis=1, keepdims=True))
            ones = nl.where(nl.broadcast_to(in_columns, shape=(ROWS, COLUMNS)), 1.0, zeros)
            row_count[...] = nl.add(row_count, nl.sum(ones, axis=1, keepdims=True))
        nl.store(total[r * ROWS + i_p, nl.arange(1)[None, :]], value=row_sum, mask=in_rows)
        nl.store(largest[r * ROWS + i_p, nl.arange(1)[None, :]], value=row_max, mask=in_rows)
        nl.store(counted[r * ROWS + i_p, nl.arange(1)[None, :]], value=row_count, mask=in_rows)
    return total, largest, counted
