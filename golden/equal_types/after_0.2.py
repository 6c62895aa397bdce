"""Four operands of one type in a loop: what the rewrite takes for granted is one assertion in front of it."""

import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def blended(a, b, c, d):
    """(M, N): (a + b) * c - d, in tiles of 128 rows."""
    m, n = a.shape
    out = nl.ndarray((m, n), dtype=a.dtype, buffer=nl.shared_hbm)
    assert a.dtype == b.dtype == c.dtype == d.dtype, "rewritten for operands of one type"
    for i in nl.affine_range(m // 128):
        a_tile = nl.ndarray((128, n), dtype=a.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=a_tile, src=a[nl.ds(i * 128, 128), 0:n])
        b_tile = nl.ndarray((128, n), dtype=b.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=b_tile, src=b[nl.ds(i * 128, 128), 0:n])
        total = nl.ndarray((128, n), dtype=a.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=total, data1=a_tile, data2=b_tile, op=nl.add)
        c_tile = nl.ndarray((128, n), dtype=c.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=c_tile, src=c[nl.ds(i * 128, 128), 0:n])
        scaled = nl.ndarray((128, n), dtype=a.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=scaled, data1=total, data2=c_tile, op=nl.multiply)
        d_tile = nl.ndarray((128, n), dtype=d.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=d_tile, src=d[nl.ds(i * 128, 128), 0:n])
        subtract_tile = nl.ndarray((128, n), dtype=a.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=subtract_tile, data1=scaled, data2=d_tile, op=nl.subtract)
        nisa.dma_copy(dst=out[nl.ds(i * 128, 128), 0:n], src=subtract_tile)
    return out
