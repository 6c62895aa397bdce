"""Contiguous subscripts written with arange and mgrid."""

import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def shifted_sum(x):
    """(P, 2 * F) gives (P, F): the left half plus the right half plus the middle."""
    rows, columns = x.shape
    half = columns // 2
    out = nl.ndarray((rows, half), dtype=x.dtype, buffer=nl.shared_hbm)

    # two vectors
    left = nl.ndarray((rows, half), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=left, src=x[:, 0:half])
    # a grid, unpacked
    right = nl.ndarray((rows, half), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=right, src=x[:, nl.ds(half, half)])
    # a grid as an object
    middle = nl.ndarray((rows, half), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=middle, src=x[:, nl.ds(half // 2, half)])

    total = nl.ndarray((rows, half), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=total, data1=left, data2=right, op=nl.add)
    nisa.tensor_tensor(dst=total, data1=total, data2=middle, op=nl.add)
    # a start that is not zero
    nisa.tensor_scalar(
        dst=total[:, nl.ds(half - 1, half - (half - 1))],
        data=total[:, nl.ds(half - 1, half - (half - 1))],
        op0=nl.multiply,
        operand0=2.0,
    )
    nisa.dma_copy(dst=out, src=total)
    return out
