import numpy as np


def gated_rows(x, gate, bias):
    product = x * gate
    return product - product.max(axis=1, keepdims=True) + bias


def turned_sum(a, b):
    return (a + b).T


def middle(low, high):
    return ((low + high) * np.float32(0.5)).astype(low.dtype)
