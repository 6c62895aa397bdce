import numpy as np


def serial_and_buffered(x):
    tripled = x * np.float32(3)
    return tripled + tripled
