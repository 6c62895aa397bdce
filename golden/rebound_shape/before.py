"""A pooling whose tile height is bound again in a branch, and is in a shape that has a name."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def pooled(x, w, pool=2):
    """The largest of each ``pool`` by ``pool`` elements of ``w.T @ x``: (128, 128) and (128, height, width)."""
    _, height, width = x.shape
    out = nl.ndarray((128, height // pool, width // pool), dtype=x.dtype, buffer=nl.shared_hbm)
    weights = nl.load(w[0:128, 0:128])
    rows = 2
    if pool == 1:
        rows = min(height, 512 // width)
    for t in nl.affine_range(height // rows):
        block = nl.load(x[0:128, t * rows : (t + 1) * rows, 0:width])
        acc = nl.zeros((128, rows, width), dtype=nl.float32, buffer=nl.psum)
        acc += nisa.nc_matmul(weights, block)
        windows = (128, rows // pool, pool, width // pool, pool)
        largest = nisa.tensor_reduce(op=nl.maximum, data=acc.reshape(windows), axis=(2, 4))
        nl.store(out[0:128, t * (rows // pool) : (t + 1) * (rows // pool), 0 : width // pool], value=largest)
    return out
