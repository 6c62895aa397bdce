"""Weighted sums of several tiles; a running address places the weights, two buffers and the work space."""

import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
from neuronxcc.nki.language import par_dim


@nki.jit
def weighted_sums(x, weights):
    """(T, P, F) and (T, P, F) give (T, 2, P, 1): the sums of x * w and of 2 * x * w over each row."""
    tiles, rows, columns = x.shape
    size = np.dtype(np.float32).itemsize
    out = nl.ndarray((tiles, 2, rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)

    addr = 64  # the first bytes stay free
    weight = nl.ndarray((tiles, par_dim(rows), columns), dtype=nl.bfloat16,
                        buffer=ncc.sbuf.mod_alloc(base_addr=addr, num_free_tiles=(tiles, )))  # all of them
    addr += tiles * columns * 2
    factor = nl.ndarray((par_dim(rows), 1), dtype=nl.float32, buffer=ncc.sbuf.mod_alloc(base_addr=addr))
    addr += size
    factor[...] = 2.0

    for t in nl.affine_range(tiles):
        weight[t] = nl.load(weights[t])

    for t in nl.affine_range(tiles):
        # both passes of a tile share the products
        product = nl.ndarray((2, par_dim(rows), columns), dtype=nl.float32,
                             buffer=ncc.sbuf.mod_alloc(base_addr=addr, num_free_tiles=(1, )))
        addr += columns * size
        tile = nl.ndarray((2, par_dim(rows), columns), dtype=x.dtype,
                          buffer=ncc.sbuf.mod_alloc(base_addr=addr, num_free_tiles=(2, )))
        addr += 2 * columns * np.dtype(x.dtype).itemsize
        total = nl.ndarray((par_dim(rows), 1), dtype=nl.float32, buffer=ncc.sbuf.mod_alloc(base_addr=addr))
        addr += size
        tile[0] = nl.load(x[t])
        tile[1] = nisa.tensor_scalar(tile[0], op0=np.multiply, operand0=factor)
        for i in nl.affine_range(2):
            product[i] = nisa.tensor_tensor(tile[i], weight[t], op=nl.multiply)
            total[...] = nisa.tensor_reduce(np.add, data=product[i], axis=1)
            nl.store(out[t, i], value=total)
    return out
