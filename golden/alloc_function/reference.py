import numpy as np


def doubled(x):
    return x.astype(np.float32) * 2
