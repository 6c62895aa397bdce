"""Two tensors whose blocks take turns on three and on two tiles, whatever the number of blocks, and a scratch tile."""

from neuronxcc import nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
from neuronxcc.nki.language import par_dim


@nki.jit
def smoothed(x):
    """(T, P, F): each sheet halved, plus the one after it."""
    sheets, rows, columns = x.shape
    out = nl.ndarray((sheets - 1, rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    offset = 0
    sheet = nl.ndarray((sheets, par_dim(rows), columns), dtype=nl.float32,
                       buffer=ncc.sbuf.mod_alloc(base_addr=offset, num_free_tiles=(3,)))
    offset += 3 * columns * 4
    half = nl.ndarray((sheets, par_dim(rows), columns), dtype=nl.float32,
                      buffer=ncc.sbuf.mod_alloc(base_addr=offset, num_free_tiles=(2,)))
    offset += 2 * columns * 4
    both = nl.ndarray((sheets, par_dim(rows), columns), dtype=nl.float32,
                      buffer=ncc.sbuf.mod_alloc(base_addr=offset))

    def load(t):
        sheet[t] = nl.load(x[t])

    load(0)
    for t in nl.sequential_range(sheets - 1):
        load(t + 1)
        half[t] = nisa.tensor_scalar(sheet[t], op0=nl.multiply, operand0=0.5)
        both[t] = nisa.tensor_tensor(half[t], sheet[t + 1], op=nl.add)
        nl.store(out[t], value=both[t])
    return out
