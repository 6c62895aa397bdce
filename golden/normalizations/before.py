"""Functions of the language that normalize, or work on bits and truth values."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def normalized(x, w):
    """(P, F) and (P, F): the softmax of each row, the RMS norm with weights, and the variance."""
    soft = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    norm = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    spread = nl.ndarray((x.shape[0], 1), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x)
    weights = nl.load(w)
    nl.store(soft, value=nl.softmax(tile, axis=1))
    nl.store(norm, value=nl.rms_norm(tile, weights, axis=-1, n=x.shape[1], epsilon=1e-5, dtype=nl.float32))
    nl.store(spread, value=nl.var(tile, axis=[1], dtype=nl.float32))
    return soft, norm, spread


@nki.jit
def in_turns(x, w):
    """(P, B, F) and (1, B * F): softmax and RMS norm of rows that have two dimensions, into one tile."""
    p, b, f = x.shape
    out = nl.ndarray((p, b, f), dtype=nl.float32, buffer=nl.shared_hbm)
    flat = nl.ndarray((p, b * f), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x[0:p, 0:b, 0:f])
    soft = nl.ndarray((p, b, f), dtype=nl.float32)
    soft[...] = nl.softmax(tile * 2.0, axis=[1, 2])
    row = nl.load(w[0:1, 0 : b * f])
    nl.store(out, value=soft)
    nl.store(flat, value=nl.rms_norm(tile.reshape((p, b * f)), row, axis=1, n=b * f))
    return out, flat


@nki.jit
def bits(x):
    """(P, F) of int32: bits by operators, remainders, truth values of rows, and what is 0."""
    p, f = x.shape
    outs = nl.ndarray((6, p, f), dtype=nl.int32, buffer=nl.shared_hbm)
    rows = nl.ndarray((p, 1), dtype=nl.uint8, buffer=nl.shared_hbm)
    zeros = nl.ndarray((p, f), dtype=nl.uint8, buffer=nl.shared_hbm)
    tile = nl.load(x[0:p, 0:f], dtype=nl.int32)
    nl.store(outs[0], value=tile & 6)
    nl.store(outs[1], value=(tile | 1) ^ 3)
    nl.store(outs[2], value=tile << 2)
    nl.store(outs[3], value=~tile)
    nl.store(outs[4], value=tile % 5)
    nl.store(outs[5], value=nl.invert(tile >> 1))
    nl.store(rows, value=nl.all(tile, axis=1))
    nl.store(zeros, value=nl.logical_not(tile))
    return outs, rows, zeros
