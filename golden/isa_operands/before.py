"""Operands that Beta 2 wants written in another way."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
from neuronxcc.nki.isa import oob_mode


@nki.jit
def scaled(x, factor):
    """(R, C) and (R, 1) give (2, R, C): x times the column, and the column minus x."""
    rows, columns = x.shape
    out = nl.ndarray((2, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    column = nl.load(factor[0:rows, 0:1])
    nl.store(out[0], value=nisa.tensor_tensor(tile, column, nl.multiply))
    nl.store(out[1], value=nisa.tensor_tensor(column, tile, nl.subtract))
    return out


@nki.jit
def planes(x, bias):
    """(R, H, W) and (R, N) give (N, R, H, W - 1): the image minus each column, and one minus it."""
    rows, high, wide = x.shape
    count = bias.shape[1]
    out = nl.ndarray((count, rows, high, wide - 1), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    columns = nl.load(bias[0:rows, 0:count])
    i_p, i_h, i_w = nl.mgrid[0:rows, 0:high, 0:wide]
    for n in nl.affine_range(count):
        inside = i_w < wide - 1
        moved = nisa.tensor_tensor(tile[i_p, i_h, i_w], columns[:, n], nl.subtract, mask=inside)
        nl.store(out[n, i_p, i_h, i_w], value=moved[i_p, i_h, i_w], mask=inside)
    behind = nisa.tensor_tensor(columns[:, 0:1], tile, op=nl.subtract)
    nl.store(out[0], value=behind[:, :, 1:wide])
    return out


@nki.jit
def halves(x):
    """(R, C) in fp32 gives (R, 2 * C): the 16 low and the 16 high bits of every number."""
    rows, columns = x.shape
    out = nl.ndarray((rows, 2 * columns), dtype=nl.int16, buffer=nl.shared_hbm)
    tile = nl.load(x, dtype=nl.float32)
    bits = tile.view(nl.int16)
    nl.store(out, value=nl.copy(bits))
    return out


@nki.jit
def double_product(a, b):
    """(K, 2, M) and (K, 2, N) in fp8 give (M, N)."""
    depth, two, rows = a.shape
    columns = b.shape[2]
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    left = nl.load(a)
    right = nl.load(b[0:depth, 0:two, 0:columns])
    total = nl.zeros((nl.par_dim(rows), columns), dtype=nl.float32, buffer=nl.psum)
    total += nisa.nc_matmul(left, right, perf_mode="double_row_gen3")
    nl.store(out, value=nl.copy(total))
    return out


@nki.jit
def picked(table, rows):
    """(N, F) and (P, 1) give (P, F): the named rows of a table, and zeros where it has no such row."""
    count = rows.shape[0]
    columns = table.shape[1]
    out = nl.ndarray((count, columns), dtype=table.dtype, buffer=nl.shared_hbm)
    index = nl.load(rows[0:count, 0:1])
    i_p = nl.arange(count)[:, None]
    i_f = nl.arange(columns)[None, :]
    tile = nl.zeros((nl.par_dim(count), columns), dtype=table.dtype, buffer=nl.sbuf)
    tile[i_p, i_f] = nl.load(table[index[i_p, 0], i_f], mode=oob_mode.skip)
    nl.store(out[i_p, i_f], value=tile)
    return out
