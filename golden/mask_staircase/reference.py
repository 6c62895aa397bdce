import numpy as np


def scaled_first(x, count):
    flat = x.reshape(-1)
    return np.where(np.arange(flat.size) < count, 2 * flat, 0).astype(x.dtype).reshape(x.shape)
