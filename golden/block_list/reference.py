import numpy as np


def band_differences(picture):
    bands = picture.astype(np.float32)
    return bands[1:] - bands[:-1]
