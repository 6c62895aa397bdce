import numpy as np


def weighted_taps(image, taps):
    channels, height, width = image.shape
    _, rows, columns = taps.shape
    out = np.zeros((channels, height - rows + 1, width - columns + 1), np.float32)
    for i, j in np.ndindex(rows, columns):
        if i == j and rows > 2:
            continue
        out += image[:, i : i + out.shape[1], j : j + out.shape[2]] * taps[:, i, j, None, None]
    return out
