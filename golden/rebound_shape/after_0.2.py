"""A pooling whose tile height is bound again in a branch, and is in a shape that has a name."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def pooled(x, w, pool=2):
    """The largest of each ``pool`` by ``pool`` elements of ``w.T @ x``: (128, 128) and (128, height, width)."""
    _, height, width = x.shape
    out = nl.ndarray((128, height // pool, width // pool), dtype=x.dtype, buffer=nl.shared_hbm)
    assert len(w.shape) == 2, "rewritten for 2 dimensions"
    weights = nl.ndarray((128, 128), dtype=w.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=weights, src=w[0:128, 0:128])
    rows = 2
    if pool == 1:
        rows = min(height, 512 // width)
    for t in nl.affine_range(height // rows):
        block = nl.ndarray((128, rows, width), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=block, src=x[0:128, t * rows : (t + 1) * rows, 0:width])
        acc = nl.ndarray((128, rows, width), dtype=nl.float32, buffer=nl.psum)
        nisa.nc_matmul(dst=acc, stationary=weights, moving=block)
        windows = (128, rows // pool, pool, width // pool, pool)
        largest = nl.ndarray((128, rows // pool, width // pool), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(
            dst=largest,
            op=nl.maximum,
            data=acc.reshape(windows).ap(
                pattern=[
                    [(rows // pool) * pool * (width // pool) * pool, 128],
                    [pool * (width // pool) * pool, rows // pool],
                    [pool, width // pool],
                    [(width // pool) * pool, pool],
                    [1, pool],
                ]
            ),
            axis=[3, 4],
        )
        nisa.dma_copy(
            dst=out[0:128, t * (rows // pool) : (t + 1) * (rows // pool), 0 : width // pool], src=largest
        )
    return out
