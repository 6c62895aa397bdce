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
        loaded_tile = nl.ndarray((128, n), dtype=a.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=loaded_tile, src=a[nl.ds(i * 128, 128), 0:n])
        loaded_tile_2 = nl.ndarray((128, n), dtype=b.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=loaded_tile_2, src=b[nl.ds(i * 128, 128), 0:n])
        total = nl.ndarray((128, n), dtype=a.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=total, data1=loaded_tile, data2=loaded_tile_2, op=nl.add)
        loaded_tile_3 = nl.ndarray((128, n), dtype=c.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=loaded_tile_3, src=c[nl.ds(i * 128, 128), 0:n])
        scaled = nl.ndarray((128, n), dtype=a.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=scaled, data1=total, data2=loaded_tile_3, op=nl.multiply)
        loaded_tile_4 = nl.ndarray((128, n), dtype=d.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=loaded_tile_4, src=d[nl.ds(i * 128, 128), 0:n])
        subtract_tile = nl.ndarray((128, n), dtype=a.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=subtract_tile, data1=scaled, data2=loaded_tile_4, op=nl.subtract)
        nisa.dma_copy(dst=out[nl.ds(i * 128, 128), 0:n], src=subtract_tile)
    return out
