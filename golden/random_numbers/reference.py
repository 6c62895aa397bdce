"""What the kernels compute, with the random bits of the emulator: those of NumPy's default generator."""

import numpy as np


def dropped(x, seed, rate):
    blocks = []
    for block in range(x.shape[1] // 64):
        draws = np.random.default_rng(int(seed[0, 0]) + block).random((x.shape[0], 64), np.float32)
        part = np.where(draws >= rate, x[:, 64 * block : 64 * block + 64], 0)
        blocks.append(part * np.float32(1 / (1 - rate)))
    return np.concatenate(blocks, axis=1)


def half(x):
    draws = np.random.default_rng(17).random(x.shape, np.float32)
    return np.where(draws >= 0.5, x, np.zeros_like(x))
