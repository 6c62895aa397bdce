import numpy as np


def grown_sum(x, count):
    n = int(count[0, 0])
    total = np.zeros(x.shape[1:], np.float32)
    for tile in x[:n]:
        total += tile
    return total * np.float32(2**n)
