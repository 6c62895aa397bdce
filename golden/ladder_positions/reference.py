import numpy as np


def lower(x):
    return 2 * np.tril(x).T
