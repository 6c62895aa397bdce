import numpy as np


def row_statistics(x):
    highest = x.max(axis=1)
    powers = np.exp(x - highest[:, None])
    ranged = np.maximum(np.maximum(powers, 0.5) - 0.5, powers).max(axis=1)
    return np.stack([highest, x.min(axis=1), x.sum(axis=1), powers.sum(axis=1) + ranged], axis=1)


def chosen_operators(x, gated, largest):
    shown = x / (1 + np.exp(-x)) if gated else np.maximum(x, 0)
    reduction = np.max if largest else np.sum
    return np.stack([reduction(shown, axis=1), reduction(2 * np.tanh(x), axis=1)], axis=1)
