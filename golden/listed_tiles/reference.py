import numpy as np


def listed_product(a, b):
    product = a.astype(np.float64).T @ b.astype(np.float64) / 2
    first, second = np.split(product, 2, axis=1)
    largest = [np.maximum(half.max(axis=1, keepdims=True), -3.0) for half in (first, second)]
    return np.concatenate([first + largest[1], second + largest[0]], axis=1).astype(np.float32)
