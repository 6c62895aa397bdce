"""Two tiles that iterations take turns on: one is loaded while the other is stored."""

from neuronxcc import nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
from neuronxcc.nki.language import par_dim


@nki.jit
def shifted_in_turns(x, shift):
    """(T, P, F) plus (P, 1), and the sum of all tiles."""
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles + 1, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    offset = nl.ndarray((par_dim(rows), 1), dtype=nl.float32, buffer=ncc.sbuf.mod_alloc(base_addr=0))
    offset[...] = nl.load(shift)
    total = nl.ndarray((par_dim(rows), columns), dtype=nl.float32, buffer=ncc.sbuf.mod_alloc(base_addr=4))
    total[...] = 0.0
    tile = nl.ndarray((tiles, par_dim(rows), columns), dtype=nl.float32,
                      buffer=ncc.sbuf.mod_alloc(base_addr=4 + columns * 4, num_free_tiles=(2, )))
    for t in nl.sequential_range(tiles):
        tile[t] = nl.load(x[t])
        tile[t] = nisa.tensor_scalar(tile[t], op0=nl.add, operand0=offset)
        nl.store(out[t], value=tile[t])
        total[...] = nisa.tensor_tensor(total, tile[t], op=nl.add)
    nl.store(out[tiles], value=total)
    return out
