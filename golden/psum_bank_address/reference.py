import numpy as np


def product_in_bank(a, b):
    return (a.astype(np.float64).T @ b.astype(np.float64)).astype(np.float32)
