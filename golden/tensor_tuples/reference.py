import numpy as np


def extremes(x):
    peak, low = x[:32, :32], x[:32, 32:]
    for r in range(2):
        peak = np.maximum(peak, x[r * 32 : r * 32 + 32, :32])
        low = np.minimum(low, x[r * 32 : r * 32 + 32, 32:])
    return np.stack([peak * 0.5, low * 0.5, peak * 0.5 + x[:32, 32:]])
