"""Masks on instructions whose result has other dimensions than the operand."""

import nki
import nki.isa as nisa
import nki.language as nl

TILE = 32


@nki.jit
def turned(x):
    """(R, C), both up to 64, gives its transpose: tile by tile, through PSUM."""
    rows, columns = x.shape
    out = nl.ndarray((columns, rows), dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(2):
        i_p_size = min(TILE, rows - i * TILE)
        for j in nl.affine_range(2):
            i_f_size = min(TILE, columns - j * TILE)
            tile = nl.ndarray((TILE, TILE), dtype=x.dtype, buffer=nl.sbuf)
            flipped = nl.ndarray((TILE, TILE), dtype=x.dtype, buffer=nl.psum)
            if i_p_size > 0 and i_f_size > 0:
                nisa.dma_copy(
                    dst=tile[0:i_p_size, 0:i_f_size], src=x[nl.ds(i * TILE, i_p_size), nl.ds(j * TILE, i_f_size)]
                )
                nisa.nc_transpose(dst=flipped[0:i_f_size, 0:i_p_size], data=tile[0:i_p_size, 0:i_f_size])
            flipped_sbuf = nl.ndarray((TILE, TILE), dtype=x.dtype, buffer=nl.sbuf)
            if i_f_size > 0 and i_p_size > 0:
                nisa.tensor_copy(dst=flipped_sbuf, src=flipped)
                nl.store(
                    out[nl.ds(j * TILE, i_f_size), nl.ds(i * TILE, i_p_size)],
                    value=flipped_sbuf[0:i_f_size, 0:i_p_size],
                )
    return out


@nki.jit
def highest(x):
    """(R, 2, C) gives (R, 2): the largest of three neighbours, summed, and of all columns."""
    rows, _, columns = x.shape
    sums = nl.ndarray((rows, 2), dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range((rows + TILE - 1) // TILE):
        i_p_size = min(TILE, rows - i * TILE)
        tile = nl.ndarray((TILE, 2, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile[0:i_p_size, :, :], src=x[nl.ds(i * TILE, i_p_size), 0:2, :])
        windows = nl.ndarray((TILE, columns - 2), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_reduce(
            dst=windows[0:i_p_size, :],
            op=nl.maximum,
            data=tile.ap(pattern=[[2 * columns, i_p_size], [1, columns - 2], [columns, 2], [1, 3]]),
            axis=[2, 3],
        )
        total = nl.ndarray((TILE, 1), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=total[0:i_p_size, :], op=nl.add, data=windows[0:i_p_size, :], axis=1)
        nl.store(sums[nl.ds(i * TILE, i_p_size), 0:1], value=total[0:i_p_size, :])
        all_columns = nl.ndarray((TILE, 1), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_reduce(
            dst=all_columns[0:i_p_size, :], op=nl.maximum, data=tile[0:i_p_size, :, :], axis=[1, 2]
        )
        nl.store(sums[nl.ds(i * TILE, i_p_size), 1:2], value=all_columns[0:i_p_size, :])
    return sums


@nki.jit
def statistics(x):
    """(R, C) gives (R, 2): mean and variance."""
    rows, columns = x.shape
    out = nl.ndarray((rows, 2), dtype=nl.float32, buffer=nl.shared_hbm)
    for i in nl.affine_range((rows + TILE - 1) // TILE):
        i_p_size = min(TILE, rows - i * TILE)
        tile = nl.ndarray((TILE, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile[0:i_p_size, :], src=x[nl.ds(i * TILE, i_p_size), :])
        stats = nl.ndarray((TILE, 6), dtype=x.dtype, buffer=nl.sbuf)
        nisa.bn_stats(dst=stats[0:i_p_size, :], data=tile[0:i_p_size, :])
        moments = nl.ndarray((TILE, 2), dtype=x.dtype, buffer=nl.sbuf)
        nisa.bn_aggr(dst=moments[0:i_p_size, :], data=stats[0:i_p_size, :])
        nl.store(out[nl.ds(i * TILE, i_p_size), :], value=moments[0:i_p_size, :])
    return out


@nki.jit
def product(a, b):
    """(K, M) and (K, N) give the product (M, N), of which a tile each is computed."""
    depth, rows = a.shape
    _, columns = b.shape
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    left = nl.load(a)
    right = nl.load(b[0:depth, 0:columns])
    for i in nl.affine_range((rows + TILE - 1) // TILE):
        i_m_size = min(TILE, rows - i * TILE)
        tile = nl.ndarray((TILE, columns), dtype=nl.float32, buffer=nl.psum)
        nisa.nc_matmul(dst=tile[0:i_m_size, :], stationary=left[:, nl.ds(i * TILE, i_m_size)], moving=right)
        summed = nl.ndarray((TILE, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(dst=summed[0:i_m_size, :], src=tile[0:i_m_size, :])
        nl.store(out[nl.ds(i * TILE, i_m_size), :], value=summed[0:i_m_size, :])
    return out
