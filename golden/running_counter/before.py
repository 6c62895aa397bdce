"""Row maxima of several tiles, with a running address for everything in SBUF."""

import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
from neuronxcc.nki.language import par_dim


@nki.jit
def peaks(x):
    """(T, P, F) gives (T + 1, P, 1): the largest element of each row, and of all the rows of one partition."""
    tiles, rows, columns = x.shape
    itemsize = np.dtype(np.float32).itemsize
    out = nl.ndarray((tiles + 1, rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)

    cur_addr = 0
    tile = nl.ndarray((tiles, par_dim(rows), columns), dtype=nl.float32,
                      buffer=ncc.sbuf.mod_alloc(base_addr=cur_addr, num_free_tiles=(tiles, )))
    cur_addr += tiles * columns * itemsize
    found = nl.ndarray((par_dim(rows), tiles), dtype=nl.float32, buffer=ncc.sbuf.mod_alloc(base_addr=cur_addr))
    cur_addr += tiles * itemsize

    for t in nl.affine_range(tiles):
        tile[t] = nl.load(x[t])
        # the body is traced once: these two tiles have one address each, whatever the number of tiles
        doubled = nl.ndarray((par_dim(rows), columns), dtype=nl.float32, buffer=ncc.sbuf.mod_alloc(base_addr=cur_addr))
        cur_addr += columns * itemsize
        peak = nl.ndarray((par_dim(rows), 1), dtype=nl.float32, buffer=ncc.sbuf.mod_alloc(base_addr=cur_addr))
        cur_addr += 1 * itemsize
        doubled[...] = nl.add(tile[t], tile[t])
        peak[...] = nisa.tensor_reduce(np.max, data=doubled, axis=1)
        found[0:rows, t:t + 1] = nl.multiply(peak, 0.5)
        nl.store(out[t], value=found[0:rows, t:t + 1])

    highest = nl.ndarray((par_dim(rows), 1), dtype=nl.float32, buffer=ncc.sbuf.mod_alloc(base_addr=cur_addr))
    highest[...] = nisa.tensor_reduce(np.max, data=found, axis=1)
    nl.store(out[tiles], value=highest)
    return out
