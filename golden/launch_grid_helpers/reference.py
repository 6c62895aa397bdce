import numpy as np


def row_sums(x, width):
    groups, rows, columns = x.shape
    tiles = columns // width
    weighted = (x.astype(np.float32) * np.float32(2.0 / tiles)).astype(x.dtype)
    return weighted.astype(np.float32).reshape(groups, rows, tiles, width).sum(axis=3).astype(x.dtype)


def negated(x):
    return -x


def halves(x):
    return x
