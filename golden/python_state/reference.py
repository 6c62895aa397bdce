import numpy as np


def counted(x):
    return np.concatenate([x, 2 * x[-1:]])
