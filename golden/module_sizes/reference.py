import numpy as np


def shifted(x):
    return x + np.float32(1)


def copied(x):
    return x
