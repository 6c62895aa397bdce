import numpy as np


def softened(x):
    return np.exp(x + 0.5)
