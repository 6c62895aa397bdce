import numpy as np


def differences(x):
    return np.concatenate([x[:1], x[1:] - x[:-1]])
