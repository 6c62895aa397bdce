import numpy as np


def triangles(x, low):
    p, f = np.indices(x.shape)
    return np.stack([np.where(p >= f, x, np.float32(low)), np.where(f > 2 * p, x, np.float32(0))])
