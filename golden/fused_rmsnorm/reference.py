import ml_dtypes
import numpy as np


def fused_rmsnorm(tokens, weights, eps=1e-6):
    x = tokens.astype(np.float32)
    normed = x / np.sqrt((x * x).mean(axis=1, keepdims=True) + eps)
    rounded = normed.astype(ml_dtypes.bfloat16).astype(np.float32)
    return rounded @ weights.astype(np.float32)
