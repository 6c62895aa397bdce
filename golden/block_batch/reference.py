"""What the kernel computes, by NumPy."""

import numpy as np


def below_peak(songs):
    peaks = np.abs(songs).max(axis=(1, 3), keepdims=True)
    return peaks - songs
