"""Two tensors whose blocks take turns on three and on two tiles, whatever the number of blocks, and a scratch tile."""

import nki
import nki.isa as nisa
import nki.language as nl
from nkilib.core.utils.allocator import SbufManager


def load(t, sheet, x):
    nisa.dma_copy(dst=sheet[:, t % 3, :], src=x[t])


@nki.jit
def smoothed(x):
    """(T, P, F): each sheet halved, plus the one after it."""
    sheets, rows, columns = x.shape
    out = nl.ndarray((sheets - 1, rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    sbm = SbufManager(0, nl.tile_size.sbuf_fmax_bytes)
    sbm.open_scope()
    sheet = sbm.alloc_stack((rows, 3, columns), dtype=nl.float32, name="sheet")
    half = sbm.alloc_stack((rows, 2, columns), dtype=nl.float32, name="half")
    both = sbm.alloc_stack((rows, columns), dtype=nl.float32, name="both")

    load(0, sheet=sheet, x=x)
    for t in nl.sequential_range(sheets - 1):
        load(t + 1, sheet=sheet, x=x)
        nisa.tensor_scalar(dst=half[:, t % 2, :], data=sheet[:, t % 3, :], op0=nl.multiply, operand0=0.5)
        nisa.tensor_tensor(dst=both, data1=half[:, t % 2, :], data2=sheet[:, (t + 1) % 3, :], op=nl.add)
        nl.store(out[t], value=both)
    sbm.close_scope()
    return out
