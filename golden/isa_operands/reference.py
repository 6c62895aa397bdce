"""What the kernels compute, in NumPy."""

import numpy as np


def scaled(x, factor):
    return np.stack([x * factor, factor - x])


def halves(x):
    return x.view(np.int16)


def double_product(a, b):
    return np.einsum("ktm,ktn->mn", a.astype(np.float32), b.astype(np.float32))


def picked(table, rows):
    at = rows[:, 0]
    inside = at < len(table)
    return np.where(inside[:, None], table[np.where(inside, at, 0)], 0)
