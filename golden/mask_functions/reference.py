"""What the kernel computes."""

import numpy as np


def grown(x):
    return 2 * np.exp(x.astype(np.float32))
