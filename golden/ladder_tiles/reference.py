import numpy as np


def scales(a, b):
    return 1 / np.sqrt(a.T @ b)
