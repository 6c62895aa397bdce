"""NumPy references of the kernels in before.py."""

import numpy as np


def scaled(x, bias=None, scale=None, kind="none", squares=False):
    total = x.astype(np.float32)
    if bias is not None:
        total = total + bias
    if scale is not None:
        total = total * np.float32(scale)
    result = {"relu": lambda t: np.maximum(t, 0), "exp": np.exp, "none": lambda t: t}[kind](total)
    wide = x.shape[1] if squares else 1
    half = wide // 2 if wide > 2 else wide
    out = result * result if squares else result.copy()
    out[:, :half] = result[:, :half]
    return out
