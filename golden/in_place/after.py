"""A name that is bound again to what an instruction makes of its tile: in place where nothing else holds the tile."""

import nki
import nki.isa as nisa
import nki.language as nl


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
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=2.0)  # the tile is read no more
        nisa.tensor_tensor(dst=tile, data1=tile, data2=shift, op=nl.add)
        nisa.activation(dst=tile, op=nl.exp, data=tile)
        nl.store(exps[i * 128 : (i + 1) * 128, :], value=tile)
        total = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=total, op=nl.add, data=tile, axis=1)
        nisa.reciprocal(dst=total, data=total)
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=total)
        nl.store(scores[i * 128 : (i + 1) * 128, :], value=tile)
    return exps, scores


@nki.jit
def kept(x):
    """(128, F): what else holds a tile keeps it, and so does what comes of other elements."""
    rows, columns = x.shape
    out = nl.ndarray((4, rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.load(x, dtype=nl.float32)
    first = a
    a_scaled = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=a_scaled, data=a, op0=nl.multiply, operand0=3.0)
    a = a_scaled  # 'first' holds the tile
    nl.store(out[0], value=first)
    b = nl.load(x, dtype=nl.float32)
    half = b[:, 0 : columns // 2]
    b_shifted = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=b_shifted, data=b, op0=nl.add, operand0=1.0)
    b = b_shifted  # and 'half' a part of it
    nl.store(out[1, :, 0 : columns // 2], value=half)
    nl.store(out[1, :, columns // 2 : columns], value=b[:, columns // 2 : columns])
    c = nl.load(x, dtype=nl.float32)
    c_before_loop = c
    for k in nl.affine_range(2):
        c = c_before_loop
        c_shifted = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=c_shifted, data=c, op0=nl.subtract, operand0=5.0)
        c = c_shifted  # Beta 1 traced this once: each iteration reads the first tile
        nl.store(out[2 + k], value=c)
    d = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=d, data1=a, data2=b, op=nl.add)
    d_shifted = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=d_shifted, data=d, op0=nl.multiply, operand0=0.5, op1=nl.add, operand1=d[:, 0:1])
    d = d_shifted  # a column that it overwrites
    last = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    nl.store(last, value=d)
    return out, last
