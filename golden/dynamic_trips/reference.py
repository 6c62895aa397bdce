"""What the kernels of this golden compute, in NumPy."""

import numpy as np


def first_tiles(x, bias, count):
    trips = int(count[0, 0])
    picked = np.full(x.shape[1:], np.nan, np.float32)
    if trips:
        picked[0] = bias[trips - 1]
    return x[:trips].sum(axis=0), picked
