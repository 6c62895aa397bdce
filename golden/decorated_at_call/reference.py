import numpy as np


def both(x, y):
    return x * np.float32(3), y * np.float32(3)


def alone(x):
    return x * np.float32(3)
