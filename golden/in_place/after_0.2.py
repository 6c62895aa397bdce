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
    shift = nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=shift, src=bias)
    for i in nl.affine_range(rows // 128):
        tile = nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[i * 128 : (i + 1) * 128, :])
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=2.0)  # the tile is read no more
        nisa.tensor_tensor(dst=tile, data1=tile, data2=shift, op=nl.add)
        nisa.activation(dst=tile, op=nl.exp, data=tile)
        nisa.dma_copy(dst=exps[i * 128 : (i + 1) * 128, :], src=tile)
        total = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=total, op=nl.add, data=tile, axis=1)
        nisa.reciprocal(dst=total, data=total)
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=total)
        nisa.dma_copy(dst=scores[i * 128 : (i + 1) * 128, :], src=tile)
    return exps, scores


@nki.jit
def kept(x):
    """(128, F): what else holds a tile keeps it, and so does what comes of other elements."""
    rows, columns = x.shape
    out = nl.ndarray((4, rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=x)
    first = a
    a_scaled = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=a_scaled, data=a, op0=nl.multiply, operand0=3.0)
    a = a_scaled  # 'first' holds the tile
    nisa.dma_copy(dst=out[0], src=first)
    b = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=b, src=x)
    half = b[:, 0 : columns // 2]
    b_shifted = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=b_shifted, data=b, op0=nl.add, operand0=1.0)
    b = b_shifted  # and 'half' a part of it
    nisa.dma_copy(dst=out[1, :, 0 : columns // 2], src=half)
    nisa.dma_copy(dst=out[1, :, columns // 2 : columns], src=b[:, columns // 2 : columns])
    c = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=c, src=x)
    c_before_loop = c
    for k in nl.affine_range(2):
        c = c_before_loop
        c_shifted = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=c_shifted, data=c, op0=nl.subtract, operand0=5.0)
        c = c_shifted  # Beta 1 traced this once: each iteration reads the first tile
        nisa.dma_copy(dst=out[2 + k], src=c)
    d = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=d, data1=a, data2=b, op=nl.add)
    d_shifted = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=d_shifted, data=d, op0=nl.multiply, operand0=0.5, op1=nl.add, operand1=d[:, 0:1])
    d = d_shifted  # a column that it overwrites
    last = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=last, src=d)
    return out, last
