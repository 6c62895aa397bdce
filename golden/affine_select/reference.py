import numpy as np


def triangles(x, low):
    p, f = np.indices(x.shape)
    return np.stack([np.where(p >= f, x, np.float32(low)), np.where(f > 2 * p, x, np.float32(0))])


def causal(q, k, window):
    p, f = np.indices((q.shape[1], q.shape[1]))
    kept = np.where((p >= f) & (f > p - window), q.T @ k, np.float32(-9984))
    return np.where(f <= p + 2, kept, np.float32(0))
