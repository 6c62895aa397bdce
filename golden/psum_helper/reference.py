import numpy as np


def symmetric(a, b):
    products = np.einsum("tkm,tkn->tmn", a.astype(np.float64), b.astype(np.float64))
    return (products + products.transpose(0, 2, 1)).astype(np.float32), products.sum(axis=0).astype(np.float32)


def doubled(a, b):
    product = a.astype(np.float64).T @ b.astype(np.float64)
    return (product + product.T).astype(np.float32)
