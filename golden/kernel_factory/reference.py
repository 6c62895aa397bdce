"""What the kernels compute."""

import numpy as np


def make_halves(x):
    return x * np.float32(1.5)


def make_causal(x):
    return np.tril(x) * np.float32(1.0 / 4)
