"""What the kernel computes."""

import numpy as np


def pooled(x, size=2, height_tile=4):
    channels, height, width = x.shape
    return x.astype(np.float32).reshape(channels, height // size, size, width // size, size).max(axis=(2, 4))
