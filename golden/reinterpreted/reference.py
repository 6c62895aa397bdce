import numpy as np


def with_scales(x):
    largest = x.max(axis=1, keepdims=True).astype(np.float32)
    return np.concatenate([x, largest.view(np.float16)], axis=1)


def words(x):
    return np.ascontiguousarray(x[:, 2:4]).view(np.int16)
