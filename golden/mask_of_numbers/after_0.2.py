"""Masks whose bounds are numbers: what they leave is a number, too."""

import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def bordered(x):
    """``x`` of (300, 64), its first 30 columns doubled, and then 16 columns of its first 5 rows raised by one."""
    out = nl.ndarray((300, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    for t in nl.affine_range(3):
        rows_size = min(128, 300 - t * 128)
        block = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=block[0:rows_size, 0:64], src=x[nl.ds(t * 128, rows_size), 0:64])
        doubled = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(
            dst=doubled[0:rows_size, 0:30], data=block[0:rows_size, 0:30], op0=nl.multiply, operand0=2.0
        )
        nisa.dma_copy(dst=out[nl.ds(t * 128, rows_size), 0:30], src=doubled[0:rows_size, 0:30])
        nisa.dma_copy(dst=out[nl.ds(t * 128, rows_size), 30:64], src=block[0:rows_size, 30:64])
    first = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=first[:, 0:20], src=x[0:128, 0:20])
    raised = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=raised[0:5, 0:20], data=first[0:5, 0:20], op0=nl.add, operand0=1.0)
    nisa.dma_copy(dst=out[0:5, 4:20], src=raised[0:5, 4:20])
    return out
