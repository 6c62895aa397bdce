import numpy as np


def first_largest(x, size):
    return x.reshape(x.shape[0], -1, size * size).argmax(axis=2).astype(np.int32)
