import numpy as np


def bordered(x, border, rows):
    out = np.zeros((max(rows, x.shape[0] + border), x.shape[1] + 2 * border), x.dtype)
    out[border : border + x.shape[0], border : border + x.shape[1]] = x
    out[:, -3:] *= 2
    return out[:rows]
