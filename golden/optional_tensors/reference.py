import numpy as np


def shifted(x, bias=None, keep_largest=False, largest_dtype="float32"):
    total = x if bias is None else x + 2 * bias[0, 0]
    return (total, total.max(axis=1, keepdims=True).astype(np.float32)) if keep_largest else total
