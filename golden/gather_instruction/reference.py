import numpy as np


def picked(x, positions):
    return np.take_along_axis(x, positions.astype(np.int64), axis=1)
