"""Tuples of tiles: what a helper returns, takes, and hands on."""

import nki
import nki.language as nl
import nki.isa as nisa

TILE = 32


def loaded(x, start):
    x_tile = nl.ndarray((TILE, TILE), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=x_tile, src=x[nl.ds(start, TILE), 0:TILE])
    x_tile_2 = nl.ndarray((TILE, TILE), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=x_tile_2, src=x[nl.ds(start, TILE), nl.ds(TILE, TILE)])
    return x_tile, x_tile_2


def scaled(pair, factor):
    pair_scaled = nl.ndarray(pair[0].shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=pair_scaled, data=pair[0], op0=nl.multiply, operand0=factor)
    pair_scaled_2 = nl.ndarray(pair[1].shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=pair_scaled_2, data=pair[1], op0=nl.multiply, operand0=factor)
    return pair_scaled, pair_scaled_2


def joined(state, pair):
    """The larger elements of ``state`` and ``pair``, and how often there was a pair."""
    found, count = state
    peak, low = found
    left, right = pair
    larger = nl.ndarray(peak.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=larger, data1=peak, data2=left, op=nl.maximum)
    minimum_tile = nl.ndarray(low.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=minimum_tile, data1=low, data2=right, op=nl.minimum)
    return (larger, minimum_tile), count + 1


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
    nisa.dma_copy(dst=out[0], src=halved[0])
    nisa.dma_copy(dst=out[1], src=halved[1])
    add_tile = nl.ndarray(both[0].shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=add_tile, data1=both[0], data2=both[1], op=nl.add)
    nisa.dma_copy(dst=out[2], src=add_tile)
    return out
