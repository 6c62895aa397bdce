import ml_dtypes
import numpy as np


def rounded(x, bias):
    narrow = ml_dtypes.bfloat16
    twice, summed = (x * np.float32(2)).astype(narrow), (x + bias).astype(narrow)
    return np.stack([twice.astype(np.float32), summed.astype(np.float32), np.rint(x).astype(np.float32)])
