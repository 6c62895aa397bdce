import numpy as np


def exchanged(x):
    return np.stack([x.sum(axis=0)] * 2)
