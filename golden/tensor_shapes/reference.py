import numpy as np


def normalized(x, planes, axes):
    tile = x.astype(np.float64).reshape(x.shape[0], planes, -1)
    centred = tile - tile.mean(axis=tuple(axes), keepdims=True)
    return (centred / np.abs(centred).max(axis=tuple(axes), keepdims=True)).reshape(x.shape).astype(np.float32)
