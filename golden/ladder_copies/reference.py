import numpy as np


def summed(x):
    x = x.astype(np.float32)
    return x.sum(axis=0) + x[:2].sum(axis=0)
