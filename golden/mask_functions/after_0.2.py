"""Masks and places that functions in the kernel make of its index vectors."""

import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def grown(x):
    """(R, C): twice the exponential of x, in tiles of 128 x 64 that reach over the edges."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)

    # of one dimension

    for r in nl.affine_range((rows + 127) // 128):
        i_p_size = min(128, rows - r * 128)
        for c in nl.affine_range((columns + 63) // 64):
            i_f_size = min(64, columns - c * 64)
            tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile[0:i_p_size, 0:i_f_size], src=x[nl.ds(r * 128, i_p_size), nl.ds(c * 64, i_f_size)])
            grown_tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
            nisa.activation(dst=grown_tile[0:i_p_size, 0:i_f_size], op=nl.exp, data=tile[0:i_p_size, 0:i_f_size])
            add_tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
            nisa.tensor_tensor(dst=add_tile, data1=grown_tile, data2=grown_tile, op=nl.add)
            nisa.dma_copy(
                dst=out[nl.ds(r * 128, i_p_size), nl.ds(c * 64, i_f_size)], src=add_tile[0:i_p_size, 0:i_f_size]
            )
    return out
