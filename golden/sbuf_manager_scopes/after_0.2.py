"""One layout after another: an address that is put back, and factors that end where the region ends."""

import nki
import nki.isa as nisa
import nki.language as nl
from nkilib.core.utils.allocator import SbufManager

REGION = 16384


@nki.jit
def packed(x, gain):
    """(P, N) and (P, M) with M < N: 3 * x, its first M columns times ``gain``."""
    rows, width = x.shape
    _, narrow = gain.shape
    out = nl.ndarray((rows, width), dtype=nl.float32, buffer=nl.shared_hbm)

    sbm = SbufManager(0, REGION)
    sbm.open_scope()
    factors = sbm.alloc_heap((rows, narrow), dtype=nl.bfloat16, name="factors")
    nisa.dma_copy(dst=factors, src=gain)

    wide = sbm.alloc_stack((rows, width), dtype=nl.float32, name="wide")
    nisa.dma_copy(dst=wide, src=x)

    # what scaling needs is free again afterwards
    sbm.open_scope()
    part = sbm.alloc_stack((rows, narrow), dtype=nl.float32, name="part")
    scaled = sbm.alloc_stack((rows, narrow), dtype=nl.float32, name="scaled")
    nisa.tensor_copy(dst=part, src=wide[0:rows, 0:narrow])
    nisa.tensor_tensor(dst=scaled, data1=part, data2=factors, op=nl.multiply)
    nisa.tensor_copy(dst=wide[0:rows, 0:narrow], src=scaled)

    sbm.close_scope()
    tripled = sbm.alloc_stack((rows, width), dtype=nl.float32, name="tripled")
    nisa.tensor_scalar(dst=tripled, data=wide, op0=nl.multiply, operand0=3.0)
    nisa.dma_copy(dst=out, src=tripled)
    sbm.close_scope()
    sbm.pop_heap()
    return out
