import numpy as np


def summed_shifts(image, weights):
    channels, height, width = image.shape
    _, high, wide, kinds = weights.shape
    rows, columns = height - high + 1, width - wide + 1
    found = np.zeros((kinds, rows, columns))
    for a in range(high):
        for b in range(wide):
            window = image[:, a : a + rows, b : b + columns]
            found += np.einsum("crw,ck->krw", window, weights[:, a, b])
    return found.astype(np.float32)
