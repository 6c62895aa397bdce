import numpy as np


def scaled_heads(x, bias, scale=None):
    heads = np.arange(x.shape[1], dtype=np.float64)
    scales = np.full(x.shape[1], scale) if scale else 1.0 / (heads + 1)
    return x * scales.astype(np.float32)[None, :, None, None] + np.tile(bias, (1, x.shape[2] // 128, 1))
