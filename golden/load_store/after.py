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
    whole = nl.load(x, dtype=nl.float32)
    nl.store(copy, value=whole)
    # slices, with and without bounds
    left = nl.load(x[:, 0:half])
    right = nl.load(x[0:rows, half:])
    nl.store(dst=out[:, nl.ds(columns - half, half)], value=left)
    nl.store(out[0:rows, 0:columns - half], right)
    # into a tile that exists
    kept = nl.ndarray((rows, 2, half), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=kept[:, 0, :], src=copy[:, 0:half])
    nisa.dma_copy(dst=kept[0:rows, 1, 0:half], src=copy[:, nl.ds(0, half)])
    last = nl.ndarray((rows, half), dtype=nl.bfloat16, buffer=nl.shared_hbm)
    nl.store(last, kept[:, 1, :])
    return out, copy, last


@nki.jit
def columns_first(x):
    """(P, F) gives (P, 3): the last column, the second one, and the first one plus the second one."""
    rows, columns = x.shape
    out = nl.ndarray((rows, 3), dtype=x.dtype, buffer=nl.shared_hbm)
    last = nl.load(x[:, columns - 1 : columns])
    nl.store(out[:, 0:1], value=last)
    for i in nl.sequential_range(2):
        column = nl.load(x[0:rows, i : i + 1])
        nl.store(out[:, 1:2], value=column)
        nl.store(out[:, 2:3], value=nl.add(nl.load(x[0:rows, 0:1]), column))
    return out
