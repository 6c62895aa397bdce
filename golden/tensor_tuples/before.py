"""Tuples of tiles: what a helper returns, takes, and hands on."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

TILE = 32


def loaded(x, start):
    i_p = nl.arange(TILE)[:, None]
    i_f = nl.arange(TILE)[None, :]
    return nl.load(x[start + i_p, i_f]), nl.load(x[start + i_p, TILE + i_f])


def scaled(pair, factor):
    return nl.multiply(pair[0], factor, dtype=nl.float32), nl.multiply(pair[1], factor, dtype=nl.float32)


def joined(state, pair):
    """The larger elements of ``state`` and ``pair``, and how often there was a pair."""
    found, count = state
    peak, low = found
    left, right = pair
    larger = nl.maximum(peak, left, dtype=nl.float32)
    return (larger, nl.minimum(low, right, dtype=nl.float32)), count + 1


@nki.jit
def extremes(x):
    """(N, 64) gives (3, 32, 32): half of the maxima of the left halves of two times 32 rows, of the minima of the
    right ones, and the first sum of both."""
    out = nl.ndarray((3, TILE, TILE), dtype=nl.float32, buffer=nl.shared_hbm)
    first = loaded(x, 0)
    state = (first, 1)
    for r in nl.static_range(2):
        state = joined(state, loaded(x, r * TILE))
    halved = scaled(state[0], 0.5)
    both = (halved[0], first[1])
    nl.store(out[0], value=halved[0])
    nl.store(out[1], value=halved[-1])
    nl.store(out[2], value=nl.add(both[0], both[1], dtype=nl.float32))
    return out
