import numpy as np


def raised(x):
    return np.stack([x + 3, x + 5])
