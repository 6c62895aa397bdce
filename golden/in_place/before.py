"""A name that is bound again to what an instruction makes of its tile: in place where nothing else holds the tile."""

import numpy as np
from neuronxcc import nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def activated(x, bias):
    """(N, F) and (128, F): exp(2 * x + bias) and its rows divided by their sums, N in tiles of 128."""
    rows, columns = x.shape
    assert rows % 128 == 0
    assert bias.shape == (128, columns)
    exps = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    scores = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    shift = nl.load(bias, dtype=nl.float32)
    for i in nl.affine_range(rows // 128):
        tile = nl.load(x[i * 128 : (i + 1) * 128, :], dtype=nl.float32)
        tile = nisa.tensor_scalar(tile, np.multiply, 2.0)  # the tile is read no more
        tile = nisa.tensor_tensor(tile, shift, np.add)
        tile = nisa.activation(op=nl.exp, data=tile)
        nl.store(exps[i * 128 : (i + 1) * 128, :], value=tile)
        total = nisa.tensor_reduce(np.add, tile, axis=1)
        total = nisa.reciprocal(total)
        tile = nisa.tensor_scalar(tile, np.multiply, total)
        nl.store(scores[i * 128 : (i + 1) * 128, :], value=tile)
    return exps, scores


@nki.jit
def kept(x):
    """(128, F): what else holds a tile keeps it, and so does what comes of other elements."""
    rows, columns = x.shape
    out = nl.ndarray((4, rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.load(x, dtype=nl.float32)
    first = a
    a = nisa.tensor_scalar(a, np.multiply, 3.0)  # 'first' holds the tile
    nl.store(out[0], value=first)
    b = nl.load(x, dtype=nl.float32)
    half = b[:, 0 : columns // 2]
    b = nisa.tensor_scalar(b, np.add, 1.0)  # and 'half' a part of it
    nl.store(out[1, :, 0 : columns // 2], value=half)
    nl.store(out[1, :, columns // 2 : columns], value=b[:, columns // 2 : columns])
    c = nl.load(x, dtype=nl.float32)
    for k in nl.affine_range(2):
        c = nisa.tensor_scalar(c, np.subtract, 5.0)  # Beta 1 traced this once: each iteration reads the first tile
        nl.store(out[2 + k], value=c)
    d = nisa.tensor_tensor(a, b, np.add)
    d = nisa.tensor_scalar(d, np.multiply, 0.5, op1=np.add, operand1=d[:, 0:1])  # a column that it overwrites
    last = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    nl.store(last, value=d)
    return out, last
