import numpy as np


def moved(image, edge, turned):
    out = np.zeros_like(image)
    out[:, :, edge:] = 2 * image[:, :, : image.shape[2] - edge]
    return out.transpose(0, 2, 1) if turned else out
