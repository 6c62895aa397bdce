"""What the kernel computes."""

import numpy as np


def sums(x, floor):
    x = x.astype(np.float32)
    counted = np.full((x.shape[0], 1), x.shape[1], np.float32)
    return x.sum(axis=1, keepdims=True), np.maximum(x.max(axis=1, keepdims=True), floor), counted
