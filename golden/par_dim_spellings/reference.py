import numpy as np


def four_times(x):
    return x.astype(np.float32) * 4
