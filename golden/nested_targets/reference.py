import numpy as np


def scaled_bands(x):
    half = x.shape[1] // 2
    out = []
    for band, factor in ((x[:, :half], 1.0), (x[:, half:], 2.0)):
        high, low = band.max(axis=1, keepdims=True), band.min(axis=1, keepdims=True)
        out.append((band - (high + low) * 0.5) * (high - low) * factor)
    return np.concatenate(out, axis=1)
