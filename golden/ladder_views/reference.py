import numpy as np


def halves(x):
    words = np.ascontiguousarray(x).view(np.int16).copy()
    words[1] = words[0]
    return words


def planes(x):
    return np.ascontiguousarray(x).view(np.int16).reshape(x.shape[0], 2, 8)
