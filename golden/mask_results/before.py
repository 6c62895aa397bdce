"""Masks on instructions whose result has other dimensions than the operand."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

TILE = 32


@nki.jit
def turned(x):
    """(R, C), both up to 64, gives its transpose: tile by tile, through PSUM."""
    rows, columns = x.shape
    out = nl.ndarray((columns, rows), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p = nl.arange(TILE)[:, None]
    i_f = nl.arange(TILE)[None, :]
    for i in nl.affine_range(2):
        for j in nl.affine_range(2):
            inside = (i * TILE + i_p < rows) & (j * TILE + i_f < columns)
            tile = nl.load(x[i * TILE + i_p, j * TILE + i_f], mask=inside)
            flipped = nisa.nc_transpose(tile, mask=inside)
            nl.store(
                out[j * TILE + i_p, i * TILE + i_f],
                value=flipped,
                mask=(j * TILE + i_p < columns) & (i * TILE + i_f < rows),
            )
    return out


@nki.jit
def highest(x):
    """(R, 2, C) gives (R, 2): the largest of three neighbours, summed, and of all columns."""
    rows, _, columns = x.shape
    sums = nl.ndarray((rows, 2), dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range((rows + TILE - 1) // TILE):
        i_p, i_h, i_f = nl.mgrid[0:TILE, 0:2, 0:columns]
        tile = nl.load(x[i * TILE + i_p, i_h, i_f], mask=i * TILE + i_p < rows)
        i_p, i_h, i_f, i_k = nl.mgrid[0:TILE, 0:2, 0 : columns - 2, 0:3]
        windows = nl.max(tile[i_p, i_h, i_f + i_k], axis=[1, 3], mask=i * TILE + i_p < rows)
        total = nl.sum(windows, axis=1, mask=i * TILE + nl.arange(TILE)[:, None] < rows)
        q_p = nl.arange(TILE)[:, None]
        nl.store(sums[i * TILE + q_p, nl.arange(1)[None, :]], value=total, mask=i * TILE + q_p < rows)
        i_p, i_h, i_f = nl.mgrid[0:TILE, 0:2, 0:columns]
        all_columns = nl.max(tile[i_p, i_h, i_f], axis=[1, 2], mask=i * TILE + i_p < rows)
        nl.store(sums[i * TILE + q_p, 1 + nl.arange(1)[None, :]], value=all_columns, mask=i * TILE + q_p < rows)
    return sums


@nki.jit
def statistics(x):
    """(R, C) gives (R, 2): mean and variance."""
    rows, columns = x.shape
    out = nl.ndarray((rows, 2), dtype=nl.float32, buffer=nl.shared_hbm)
    i_p = nl.arange(TILE)[:, None]
    i_f = nl.arange(columns)[None, :]
    i_two = nl.arange(2)[None, :]
    for i in nl.affine_range((rows + TILE - 1) // TILE):
        tile = nl.load(x[i * TILE + i_p, i_f], mask=i * TILE + i_p < rows)
        stats = nisa.bn_stats(tile, mask=i * TILE + i_p < rows)
        moments = nisa.bn_aggr(stats, mask=i * TILE + i_p < rows)
        nl.store(out[i * TILE + i_p, i_two], value=moments, mask=i * TILE + i_p < rows)
    return out


@nki.jit
def product(a, b):
    """(K, M) and (K, N) give the product (M, N), of which a tile each is computed."""
    depth, rows = a.shape
    _, columns = b.shape
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    left = nl.load(a[0:depth, 0:rows])
    right = nl.load(b[0:depth, 0:columns])
    for i in nl.affine_range((rows + TILE - 1) // TILE):
        i_k = nl.arange(depth)[:, None]
        i_m = nl.arange(TILE)[None, :]
        i_n = nl.arange(columns)[None, :]
        i_r = nl.arange(TILE)[:, None]
        tile = nisa.nc_matmul(left[i_k, i * TILE + i_m], right[i_k, i_n], mask=i * TILE + i_m < rows)
        summed = nl.copy(tile[i_r, i_n], dtype=nl.float32, mask=i * TILE + i_r < rows)
        nl.store(out[i * TILE + i_r, i_n], value=summed, mask=i * TILE + i_r < rows)
    return out
