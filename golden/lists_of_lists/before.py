"""Two buffers of rows, and tiles of weights by two indices, as lists of lists."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def summed_shifts(image, weights):
    """(C, H, W) and (C, A, B, K) give (K, H - A + 1, W - B + 1)."""
    channels, height, width = image.shape
    _, high, wide, kinds = weights.shape
    rows, columns = height - high + 1, width - wide + 1
    out = nl.ndarray((kinds, rows, columns), dtype=image.dtype, buffer=nl.shared_hbm)

    parts = [
        [nl.load(weights[:, a, b, :]) for b in range(wide)]
        for a in range(high)
    ]
    lines = [[nl.ndarray((channels, width), dtype=image.dtype, buffer=nl.sbuf) for _ in range(high)] for _ in range(2)]
    for row in nl.static_range(rows):
        for a in nl.static_range(high):
            lines[row % 2][a][...] = nl.load(image[:, row + a, :])
        total = nl.zeros((kinds, columns), dtype=nl.float32, buffer=nl.psum)
        for a in nl.static_range(high):
            for b in nl.static_range(wide):
                total[...] += nisa.nc_matmul(parts[a][b], lines[row % 2][a][:, nl.ds(b, columns)])
        nl.store(out[:, row, :], value=total)
    return out
