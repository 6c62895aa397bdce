import numpy as np


def nearest(x, height, width):
    h, w = x.shape
    rows, columns = np.divmod(np.arange(height * width), width)
    from_rows = np.floor(rows.astype(np.float32) * np.float32(h / height))
    from_columns = np.floor(columns.astype(np.float32) * np.float32(w / width))
    return (from_rows * w + from_columns).astype(np.int32)[:, None]


def whole(x):
    return np.floor(x.astype(np.float64)).astype(np.int32)
