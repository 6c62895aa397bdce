import numpy as np


def centred(x):
    mean = x.astype(np.float64).sum(axis=1, keepdims=True).astype(np.float32) * np.float32(1 / x.shape[1])
    return np.stack([x - mean, x + mean, np.broadcast_to(mean, x.shape)])
