import numpy as np


def scaled(x, gain):
    return x.astype(np.float32) * gain
