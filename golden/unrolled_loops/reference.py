"""What the kernel computes."""

import numpy as np


def turned(q, k, bias, factor=0.125):
    q, k, bias = (x.astype(np.float32) for x in (q, k, bias))
    return np.exp(q * np.float32(factor)), np.exp(k), np.stack([q + bias, q * bias])
