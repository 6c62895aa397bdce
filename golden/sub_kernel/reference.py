import numpy as np


def limited(x, low, high):
    factor = np.float32(1.0 / (high - low))
    return np.clip(x.astype(np.float32), np.float32(low), np.float32(high)) * factor
