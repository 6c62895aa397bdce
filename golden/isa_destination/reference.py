import numpy as np


def standardised(x, gain):
    largest = np.abs(x).max(axis=1, keepdims=True)
    result = x * (np.float32(1) / largest) * gain
    return result, result[:, :32].T
