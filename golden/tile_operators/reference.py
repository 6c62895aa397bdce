import numpy as np


def blended(x, y, weight):
    w, rest = np.float32(weight), np.float32(1.0 - weight)
    return np.stack([x * w + y * rest, x * w - y * rest])
