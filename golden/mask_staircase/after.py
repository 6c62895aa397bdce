"""The first elements of a tensor, counted row by row: the last of them end in the middle of a row."""

import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def scaled_first(x, count):
    """(T, P, F): twice x for the first count elements, and zeros in the rest."""
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for t in nl.affine_range(tiles):
        zeros = nl.zeros((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
        nl.store(out[t, :, :], value=zeros)
        elements_left = count - t * rows * columns
        full_rows = min(rows, max(0, elements_left // columns))
        rest_of_row = min(columns, elements_left - full_rows * columns) if full_rows < rows else 0
        rows_left = min(rows, (elements_left + columns - 1) // columns)
        tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
        if full_rows > 0:
            nisa.dma_copy(dst=tile[0:full_rows, :], src=x[t, 0:full_rows, :])
        if rest_of_row > 0:
            nisa.dma_copy(
                dst=tile[full_rows : full_rows + 1, 0:rest_of_row],
                src=x[t, full_rows : full_rows + 1, 0:rest_of_row],
            )
        doubled = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
        if rows_left > 0:
            nisa.tensor_scalar(
                dst=doubled[0:rows_left, :], data=tile[0:rows_left, :], op0=nl.multiply, operand0=2.0
            )
        if full_rows > 0:
            nisa.dma_copy(dst=out[t, 0:full_rows, :], src=doubled[0:full_rows, :])
        if rest_of_row > 0:
            nisa.dma_copy(
                dst=out[t, full_rows : full_rows + 1, 0:rest_of_row],
                src=doubled[full_rows : full_rows + 1, 0:rest_of_row],
            )
    return out
