import numpy as np


def stepped(x, step=0.5):
    factors = 1.0 + np.arange(x.shape[0]) * step
    return (x.astype(np.float32) * factors[:, None, None]).astype(np.float32)
