import numpy as np


def shifted(x):
    return x + np.float32(4 if x.shape[1] > 32 else 1)
