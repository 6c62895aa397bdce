import numpy as np


def largest_of_windows(x, windows, padding=(1, 2)):
    padded = np.pad(x.astype(np.float64), ((0, 0), padding), constant_values=-np.inf)
    width = padded.shape[1]
    ends = [(w * width // windows, -(-(w + 1) * width // windows)) for w in range(windows)]
    return np.stack([padded[:, a:b].max(axis=1) for a, b in ends], axis=1).astype(x.dtype)
