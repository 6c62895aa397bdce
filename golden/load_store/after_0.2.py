"""Copies between HBM and SBUF in every spelling."""

import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def halves_swapped(x):
    """(P, F): the columns of the second half come first; the result is float32."""
    rows, columns = x.shape
    half = columns // 2
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    copy = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)

    # the whole tensor, with a cast
    whole = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=whole, src=x)
    nisa.dma_copy(dst=copy, src=whole)
    # slices, with and without bounds
    left = nl.ndarray((rows, half), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=left, src=x[:, 0:half])
    right = nl.ndarray((rows, columns - half), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=right, src=x[0:rows, half:])
    nisa.dma_copy(dst=out[:, nl.ds(columns - half, half)], src=left)
    nisa.dma_copy(dst=out[0:rows, 0 : columns - half], src=right)
    # into a tile that exists
    kept = nl.ndarray((rows, 2, half), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=kept[:, 0, :], src=copy[:, 0:half])
    nisa.dma_copy(dst=kept[0:rows, 1, 0:half], src=copy[:, nl.ds(0, half)])
    last = nl.ndarray((rows, half), dtype=nl.bfloat16, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=last, src=kept[:, 1, :])
    return out, copy, last


@nki.jit
def columns_first(x):
    """(P, F) gives (P, 3): the last column, the second one, and the first one plus the second one."""
    rows, columns = x.shape
    out = nl.ndarray((rows, 3), dtype=x.dtype, buffer=nl.shared_hbm)
    last = nl.ndarray((rows, 1), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=last, src=x[:, columns - 1])
    nisa.dma_copy(dst=out[:, 0:1], src=last)
    for i in nl.sequential_range(2):
        column = nl.ndarray((rows, 1), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=column, src=x[0:rows, i])
        nisa.dma_copy(dst=out[:, 1:2], src=column)
        x_tile = nl.ndarray((rows, 1), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=x_tile, src=x[0:rows, 0])
        add_tile = nl.ndarray((rows, 1), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=add_tile, data1=x_tile, data2=column, op=nl.add)
        nisa.dma_copy(dst=out[:, 2:3], src=add_tile)
    return out
