import numpy as np


def gram(x):
    x = x.astype(np.float64)
    return (x.T @ x).astype(np.float32)
