"""The two kernels in NumPy."""

import numpy as np


def activated(x, bias):
    tiles = x.reshape(-1, *bias.shape)
    exps = np.exp(2 * tiles + bias)
    return exps.reshape(x.shape), (exps / exps.sum(axis=-1, keepdims=True)).reshape(x.shape)


def kept(x):
    half = x.shape[1] // 2
    a, b = 3 * x, x + 1
    halves = np.concatenate([x[:, :half], b[:, half:]], axis=1)
    d = a + b
    return np.stack([x, halves, x - 5, x - 5]), 0.5 * d + d[:, 0:1]
