"""NumPy: what the kernels compute."""

import numpy as np


def _softmax(x, axes):
    powers = np.exp(x - x.max(axis=axes, keepdims=True))
    return powers / powers.sum(axis=axes, keepdims=True)


def normalized(x, w):
    root = np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-5)
    return _softmax(x, (1,)), x / root * w, x.var(axis=1, keepdims=True)


def in_turns(x, w):
    flat = x.reshape(len(x), -1)
    root = np.sqrt((flat * flat).mean(axis=1, keepdims=True) + 1e-6)
    return _softmax(x * 2, (1, 2)), flat / root * w


def bits(x):
    outs = np.stack([x & 6, (x | 1) ^ 3, x << 2, ~x, x % 5, ~(x >> 1)])
    return outs, (x != 0).all(axis=1, keepdims=True).astype(np.uint8), (x == 0).astype(np.uint8)
