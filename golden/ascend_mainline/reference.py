"""Both in NumPy."""

import numpy as np


def product(A, B, C):
    return (A.astype(np.float64) @ B.astype(np.float64).T).astype(np.float32)


def vector_add(A, B, C):
    return A + B
