import numpy as np


def product(a, b, rows):
    result = (a.astype(np.float64).T @ b.astype(np.float64)).astype(np.float32)
    result[rows:] = 0
    return result


def on_one(a, b, rows):
    return product(a, b, rows)[None]


def on_two(a, b, rows):
    return np.stack([product(a, b, rows)] * 2)
