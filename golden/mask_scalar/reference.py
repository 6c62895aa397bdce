import numpy as np


def alternating(x, limit):
    result = x.copy()
    result[limit:] *= np.float32(2)
    result[0] = 1
    return result
