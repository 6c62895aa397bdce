import numpy as np


def product(lhs, rhs):
    return lhs.astype(np.float32).T @ rhs
