import numpy as np


def pair_products(a, b):
    return np.einsum("ikm,jkn->ijmn", a.astype(np.float64), b.astype(np.float64)).astype(np.float32)
