"""Indices from lambdas, a dictionary of lambdas, and a function in the kernel."""

import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def halves(x):
    """(T * 128, 2 * F): the two halves of each row change places, the second one doubled."""
    rows, columns = x.shape
    half = columns // 2
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    # of one tile
    # behind the first half

    for t in nl.affine_range(rows // 128):
        first = nl.ndarray((128, half), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=first, src=x[nl.ds(t * 128, 128), 0:half])
        second = nl.ndarray((128, half), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=second, src=x[nl.ds(t * 128, 128), nl.ds(half, half)])
        nisa.dma_copy(dst=out[nl.ds(t * 128, 128), nl.ds(half, half)], src=first)
        twice = nl.ndarray((128, half), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=twice, data1=second, data2=second, op=nl.add)
        nisa.dma_copy(dst=out[nl.ds(t * 128, 128), nl.ds(0 * half, half)], src=twice)
    return out
