"""Sums of a matrix in tiles, in which a mask chooses what counts."""

import nki
import nki.language as nl
import nki.isa as nisa

ROWS = nl.tile_size.pmax
COLUMNS = 256


@nki.jit
def sums(x, floor):
    """(M, N) to the sum of each row, the largest element of each row, and how many elements it has."""
    m, n = x.shape
    total = nl.ndarray((m, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    largest = nl.ndarray((m, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    counted = nl.ndarray((m, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    for r in range((m + ROWS - 1) // ROWS):
        rows = min(ROWS, m - r * ROWS)
        row_sum = nl.zeros((ROWS, 1), dtype=nl.float32)
        row_max = nl.ndarray((ROWS, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=row_max, value=floor)
        row_count = nl.zeros((ROWS, 1), dtype=nl.float32)
        for c in range((n + COLUMNS - 1) // COLUMNS):
            i_f_size = min(COLUMNS, n - c * COLUMNS)
            tile = nl.ndarray((ROWS, COLUMNS), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(
                dst=tile[0:rows, 0:i_f_size],
                src=x[nl.ds(r * ROWS, rows), nl.ds(c * COLUMNS, i_f_size)],
            )
            zeros = nl.zeros((ROWS, COLUMNS), dtype=nl.float32, buffer=nl.sbuf)
            safe = nl.ndarray((ROWS, COLUMNS), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_copy(dst=safe, src=zeros)
            nisa.tensor_copy(dst=safe[0:rows, 0:i_f_size], src=tile[0:rows, 0:i_f_size])
            safe_sum = nl.sum(safe, axis=1, keepdims=True)
            nisa.tensor_tensor(dst=row_sum, data1=row_sum, data2=safe_sum, op=nl.add)
            low = nl.ndarray((ROWS, COLUMNS), dtype=nl.float32, buffer=nl.sbuf)
            nisa.memset(dst=low, value=floor)
            nisa.tensor_copy(dst=low[0:rows, 0:i_f_size], src=tile[0:rows, 0:i_f_size])
            low_max = nl.max(low, axis=1, keepdims=True)
            nisa.tensor_tensor(dst=row_max, data1=row_max, data2=low_max, op=nl.maximum)
            ones = nl.ndarray((ROWS, COLUMNS), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_copy(dst=ones, src=zeros)
            nisa.memset(dst=ones[:, 0:i_f_size], value=1.0)
            ones_sum = nl.sum(ones, axis=1, keepdims=True)
            nisa.tensor_tensor(dst=row_count, data1=row_count, data2=ones_sum, op=nl.add)
        nl.store(total[nl.ds(r * ROWS, rows), :], value=row_sum[0:rows, :])
        nl.store(largest[nl.ds(r * ROWS, rows), :], value=row_max[0:rows, :])
        nl.store(counted[nl.ds(r * ROWS, rows), :], value=row_count[0:rows, :])
    return total, largest, counted
