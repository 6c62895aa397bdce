import numpy as np


def column_totals(x):
    return x.astype(np.float64).sum(axis=1)[..., None].astype(np.float32)
