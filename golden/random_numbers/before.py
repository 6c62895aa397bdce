"""Dropout of a tile, with a seed that each block of columns has for itself."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

BLOCK = 64


@nki.jit
def dropped(x, seed, rate):
    """(P, F) gives (P, F): elements become 0 with probability ``rate``, the others are scaled."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    seed_tile = nl.load(seed[0:1, 0:1])
    rate_tile = nl.full((nl.par_dim(rows), 1), fill_value=rate, dtype=nl.float32)
    tile = nl.load(x)
    for block in nl.sequential_range(columns // BLOCK):
        nl.random_seed(seed=nl.add(seed_tile[0, 0], block))
        part = nl.dropout(tile[0:rows, nl.ds(block * BLOCK, BLOCK)], rate=rate_tile[0:rows, 0])
        scaled = nl.multiply(part, 1 / (1 - rate))
        nl.store(out[0:rows, nl.ds(block * BLOCK, BLOCK)], scaled)
    return out


@nki.jit
def half(x):
    """(P, F) gives (P, F): every element stays with probability 1/2."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.random_seed(seed=17)
    nl.store(out, nl.dropout(nl.load(x), rate=0.5))
    return out
