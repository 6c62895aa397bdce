"""NumPy references of the kernels in before.py."""

import numpy as np


def counted(labels, groups):
    return (labels == np.arange(groups)).sum(axis=0).astype(np.float32).reshape(groups, 1)
