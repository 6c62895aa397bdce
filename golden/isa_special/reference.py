"""NumPy: what ranked computes."""

import numpy as np


def ranked(x):
    rows, columns = x.shape
    where = np.argsort(-x, axis=1, kind="stable")[:, :8]
    best = np.take_along_axis(x, where, axis=1)
    stats = np.stack([x.mean(axis=1), x.var(axis=1)], axis=1)
    numbers = (3 * np.arange(rows)[:, None] + 2 * np.arange(columns)[None, :] + 1).astype(np.float32)
    return best, where.astype(np.uint32), stats, np.where(x > numbers, x, numbers).T
