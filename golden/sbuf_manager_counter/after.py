"""Weighted sums of several tiles; a running address places the weights, two buffers and the work space."""

import nki
import nki.isa as nisa
import nki.language as nl
from nkilib.core.utils.allocator import SbufManager


@nki.jit
def weighted_sums(x, weights):
    """(T, P, F) and (T, P, F) give (T, 2, P, 1): the sums of x * w and of 2 * x * w over each row."""
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, 2, rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)

    # the first bytes stay free
    sbm = SbufManager(64, nl.tile_size.sbuf_fmax_bytes)
    sbm.open_scope()
    weight = sbm.alloc_stack((rows, tiles, columns), dtype=nl.bfloat16, name="weight")  # all of them
    factor = sbm.alloc_stack((rows, 1), dtype=nl.float32, name="factor", align=1)
    nisa.memset(dst=factor, value=2.0)

    for t in nl.affine_range(tiles):
        nisa.dma_copy(dst=weight[:, t, :], src=weights[t])

    for t in nl.affine_range(tiles):
        # both passes of a tile share the products
        sbm.open_scope()
        product = sbm.alloc_stack((rows, columns), dtype=nl.float32, align=1)
        tile = sbm.alloc_stack((rows, 2, columns), dtype=x.dtype, align=1)
        total = sbm.alloc_stack((rows, 1), dtype=nl.float32, align=1)
        nisa.dma_copy(dst=tile[:, 0, :], src=x[t])
        nisa.tensor_scalar(dst=tile[:, 1, :], data=tile[:, 0, :], op0=nl.multiply, operand0=factor)
        for i in nl.affine_range(2):
            nisa.tensor_tensor(dst=product, data1=tile[:, i, :], data2=weight[:, t, :], op=nl.multiply)
            nisa.tensor_reduce(dst=total, op=nl.add, data=product, axis=1)
            nl.store(out[t, i], value=total)
        sbm.close_scope()
    sbm.close_scope()
    return out
