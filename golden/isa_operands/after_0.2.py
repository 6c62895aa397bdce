"""Operands that Beta 2 wants written in another way."""

import nki
import nki.isa as nisa
import nki.language as nl
from nki.isa import oob_mode


@nki.jit
def scaled(x, factor):
    """(R, C) and (R, 1) give (2, R, C): x times the column, and the column minus x."""
    rows, columns = x.shape
    out = nl.ndarray((2, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    column = nl.ndarray((rows, 1), dtype=factor.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=column, src=factor[0:rows, 0:1])
    assert x.dtype == factor.dtype, "rewritten for operands of one type"
    tensor_tensor_tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_tensor(
        dst=tensor_tensor_tile,
        data1=tile,
        data2=column.ap(pattern=[[1, rows], [0, columns]]),
        op=nl.multiply,
    )
    nisa.dma_copy(dst=out[0], src=tensor_tensor_tile)
    tensor_tensor_tile_2 = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_tensor(
        dst=tensor_tensor_tile_2,
        data1=column.ap(pattern=[[1, rows], [0, columns]]),
        data2=tile,
        op=nl.subtract,
    )
    nisa.dma_copy(dst=out[1], src=tensor_tensor_tile_2)
    return out


@nki.jit
def planes(x, bias):
    """(R, H, W) and (R, N) give (N, R, H, W - 1): the image minus each column, and one minus it."""
    rows, high, wide = x.shape
    count = bias.shape[1]
    out = nl.ndarray((count, rows, high, wide - 1), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, high, wide), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    assert len(bias.shape) == 2, "rewritten for 2 dimensions"
    columns = nl.ndarray((rows, count), dtype=bias.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=columns, src=bias[0:rows, 0:count])
    assert x.dtype == bias.dtype, "rewritten for operands of one type"
    i_w_size = min(wide, wide - 1)
    for n in nl.affine_range(count):
        moved = nl.ndarray((rows, high, wide), dtype=x.dtype, buffer=nl.sbuf)
        if i_w_size > 0:
            nisa.tensor_tensor(
                dst=moved[:, :, 0:i_w_size],
                data1=tile[:, :, 0:i_w_size],
                data2=columns.ap(pattern=[[count, rows], [0, high], [0, i_w_size]], offset=n),
                op=nl.subtract,
            )
            nisa.dma_copy(dst=out[n, :, :, 0:i_w_size], src=moved[:, :, 0:i_w_size])
    behind = nl.ndarray((rows, high, wide), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_tensor(
        dst=behind,
        data1=columns.ap(pattern=[[count, rows], [0, high], [0, wide]]),
        data2=tile,
        op=nl.subtract,
    )
    nisa.dma_copy(dst=out[0], src=behind[:, :, 1:wide])
    return out


@nki.jit
def halves(x):
    """(R, C) in fp32 gives (R, 2 * C): the 16 low and the 16 high bits of every number."""
    rows, columns = x.shape
    out = nl.ndarray((rows, 2 * columns), dtype=nl.int16, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    bits = tile.view(nl.int16, (rows, columns * 2))
    bits_copy = nl.ndarray((rows, columns * 2), dtype=nl.int16, buffer=nl.sbuf)
    nisa.tensor_copy(dst=bits_copy, src=bits)
    nisa.dma_copy(dst=out, src=bits_copy)
    return out


@nki.jit
def double_product(a, b):
    """(K, 2, M) and (K, 2, N) in fp8 give (M, N)."""
    depth, two, rows = a.shape
    columns = b.shape[2]
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    left = nl.ndarray((depth, two, rows), dtype=a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=left, src=a)
    right = nl.ndarray((depth, two, columns), dtype=b.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=right, src=b[0:depth, 0:two, 0:columns])
    total = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(
        dst=total, stationary=left, moving=right, perf_mode=nisa.matmul_perf_mode.double_row
    )
    total_sbuf = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=total_sbuf, src=total)
    nisa.dma_copy(dst=out, src=total_sbuf)
    return out


@nki.jit
def picked(table, rows):
    """(N, F) and (P, 1) give (P, F): the named rows of a table, and zeros where it has no such row."""
    count = rows.shape[0]
    columns = table.shape[1]
    out = nl.ndarray((count, columns), dtype=table.dtype, buffer=nl.shared_hbm)
    assert len(rows.shape) == 2, "rewritten for 2 dimensions"
    index = nl.ndarray((count, 1), dtype=rows.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=index, src=rows[0:count, 0:1])
    tile = nl.zeros((count, columns), dtype=table.dtype, buffer=nl.sbuf)
    assert len(table.shape) == 2, "rewritten for 2 dimensions"
    nisa.dma_copy(
        dst=tile,
        src=table.ap(
            pattern=[[table.shape[1], count], [1, columns]], vector_offset=index, indirect_dim=0
        ),
        oob_mode=oob_mode.skip,
    )
    nisa.dma_copy(dst=out, src=tile)
    return out
