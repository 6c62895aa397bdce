"""Two buffers of rows, and tiles of weights by two indices, as lists of lists."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def summed_shifts(image, weights):
    """(C, H, W) and (C, A, B, K) give (K, H - A + 1, W - B + 1)."""
    channels, height, width = image.shape
    _, high, wide, kinds = weights.shape
    rows, columns = height - high + 1, width - wide + 1
    out = nl.ndarray((kinds, rows, columns), dtype=image.dtype, buffer=nl.shared_hbm)

    parts = []
    for a in range(high):
        parts_row = []
        for b in range(wide):
            weights_tile = nl.load(weights[:, a, b, :])
            parts_row.append(weights_tile)
        parts.append(parts_row)
    lines = []
    for _ in range(2):
        lines_row = []
        for _ in range(high):
            lines_row.append(nl.ndarray((channels, width), dtype=image.dtype, buffer=nl.sbuf))
        lines.append(lines_row)
    for row in nl.static_range(rows):
        for a in nl.static_range(high):
            nisa.dma_copy(dst=lines[row % 2][a], src=image[:, row + a, :])
        total = nl.ndarray((kinds, columns), dtype=nl.float32, buffer=nl.psum)
        for a in nl.static_range(high):
            for b in nl.static_range(wide):
                nisa.nc_matmul(dst=total, stationary=parts[a][b], moving=lines[row % 2][a][:, nl.ds(b, columns)])
        total_sbuf = nl.ndarray((kinds, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(dst=total_sbuf, src=total)
        nl.store(out[:, row, :], value=total_sbuf)
    return out
