import numpy as np


def scaled_rows(x, factor):
    return x * np.float32(factor) + np.arange(len(x), dtype=np.float32)[:, None, None]
