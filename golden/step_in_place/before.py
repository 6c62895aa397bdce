"""Softmax of scores and a product, tile by tile: the kernel's loop names its steps."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np


@nki.jit
def weighted_rows(x, w):
    """Softmax of the rows of (T, 128, F), in the first matrix (F, 64) of ``w`` and the second one."""
    tiles, rows, columns = x.shape
    width = w.shape[2]
    out = nl.ndarray((tiles, rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    weights = nl.load(w[0])
    total = nl.ndarray((nl.par_dim(rows), 1), dtype=nl.float32, buffer=nl.sbuf)

    # subtracts the largest number of each row first
    def exponentials(t):
        """The numerators, and their sums in ``total``."""
        scores = nl.load(x[t])
        top = nisa.tensor_reduce(np.max, scores, axis=(1,), negate=True)
        result = nisa.activation(nl.exp, scores, bias=top)
        total[...] = nisa.tensor_reduce(np.add, result, axis=(1,))
        return result

    def product(t, numerators, scale=0.5):
        result = nl.ndarray((nl.par_dim(rows), width), dtype=nl.float32, buffer=nl.sbuf)
        turned = nisa.tensor_copy(nisa.nc_transpose(numerators))
        for half in nl.affine_range(2):  # of the matrix
            columns_of_half = nl.ds(half * (width // 2), width // 2)
            part = nisa.nc_matmul(turned, weights[:, columns_of_half])
            result[:, columns_of_half] = nisa.tensor_scalar(part, np.multiply, scale)
        inverse = nisa.reciprocal(total)
        return nl.multiply(result, inverse)

    def finish(where, tile):
        # everything is there
        for half in nl.affine_range(2):
            begin = half * (width // 2)
            nl.store(out[where, :, begin : begin + width // 2], value=tile[:, begin : begin + width // 2])

    for t in nl.affine_range(tiles):
        numerators = exponentials(t)
        tile = product(t, numerators)
        finish(t, tile)  # half by half
    return out
