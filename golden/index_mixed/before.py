"""Indices of different makes on one tensor."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

TILE = 64


@nki.jit
def shifted_rows(x, shift):
    """(N, R, C) gives (N, R, C): every row moved up by ``shift``, the last ones kept."""
    planes, rows, columns = x.shape
    out = nl.ndarray((planes, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    shape_2d = (rows, columns)
    i_n, i_r, i_c = nl.mgrid[0:planes, 0 : shape_2d[0], 0 : shape_2d[1]]
    tile = nl.load(x[i_n, i_r, i_c])
    nl.store(out[i_n, i_r, i_c], value=tile)
    # the rows of one grid, the columns of another
    i_n, i_from, i_c = nl.mgrid[0:planes, shift:rows, 0:columns]
    _, i_to, _ = nl.mgrid[0:planes, 0 : rows - shift, 0:columns]
    nl.store(out[i_n, i_to, i_c], value=tile[i_n, i_from, i_c])
    return out


@nki.jit
def weighted(x, weights):
    """(B, R, C) and (R, B) gives (B, R, C): x[b] times column b of the weights, row by row."""
    batches = weights.shape[1]
    rows = weights.shape[0]
    columns = 24
    out = nl.ndarray((batches, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p = nl.arange(TILE)[:, None]
    i_f = nl.arange(columns)[None, :]
    for b in nl.affine_range(batches):
        plane = x[b]
        for i in nl.affine_range((rows + TILE - 1) // TILE):
            tile = nl.load(plane[i * TILE + i_p, i_f], mask=i * TILE + i_p < rows)
            factor = nl.load(weights[i * TILE + i_p, b], mask=i * TILE + i_p < rows)
            product = nl.multiply(tile, factor, mask=i * TILE + i_p < rows)
            nl.store(out[b][i * TILE + i_p, i_f], value=product, mask=i * TILE + i_p < rows)
    return out


@nki.jit
def selected(x, column):
    """(R, C) and one number give (R, 1): a column, by its number."""
    rows, columns = x.shape
    out = nl.ndarray((rows, 1), dtype=x.dtype, buffer=nl.shared_hbm)
    number = nl.load(column[0], dtype=nl.float32)
    tile = nl.load(x)
    positions = nisa.iota(0 * nl.arange(rows)[:, None] + nl.arange(columns)[None, :], dtype=nl.float32)
    hit = nl.equal(positions, number.broadcast_to((rows, columns)), dtype=nl.float32)
    nl.store(out, value=nl.sum(tile * hit, axis=1, keepdims=True))
    return out


@nki.jit
def unzipped(x, in_pairs):
    """(2 * R, C) gives (2, R, C): the first and the second half of the rows, or of every pair of rows."""
    rows = x.shape[0] // 2
    columns = x.shape[1]
    out = nl.ndarray((2, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    i_first = nl.arange(rows)[:, None]
    i_second = i_first + rows
    i_f = nl.arange(columns)[None, :]
    i_even = i_first * 2 if in_pairs else i_first
    i_odd = i_even + 1 if in_pairs else i_second
    nl.store(out[0, i_first, i_f], value=nl.load(x[i_even, i_f]))
    nl.store(out[1, i_first, i_f], value=nl.load(x[i_odd, i_f]))
    return out


@nki.jit
def doubled(x):
    """(R, C) gives (R, C): twice the numbers, in a tile of the tensor's shape."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    tile[...] = nl.load(x)
    nl.store(out, value=nl.add(tile, tile))
    return out


@nki.jit
def quarters(x):
    """(R, C) gives (R, C): the four quarters of the columns, each times its number."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    width = columns // 4
    for q in nl.affine_range(4):
        part = nl.ds(q * width, width)
        scaled = nl.multiply(tile[:, part], q)
        nl.store(out[:, part], value=scaled)
    return out
