import numpy as np


def overwritten(x):
    """What two physical tiles leave: the last block of the same parity."""
    last = len(x) - 1
    return np.stack([x[last - (last - t) % 2] for t in range(len(x))])
