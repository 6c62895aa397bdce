"""What the kernel computes."""

import numpy as np


def weighted(x, weights, shifts):
    x, *others = (np.asarray(t).astype(np.float32) for t in (x, *weights, *shifts))
    weights, shifts = others[: len(weights)], others[len(weights) :]
    total = sum(shifts)
    return np.stack([x * w for w in weights]), np.stack([np.exp(s - total) for s in shifts])
