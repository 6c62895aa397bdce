"""One layout twice: with addresses by hand, and with the stack and the heap of SbufManager."""

import nki
import nki.isa as nisa
import nki.language as nl
from nkilib.core.utils.allocator import SbufManager

REGION = 16384


@nki.jit
def packed_by_hand(x, gain):
    """(128, 512) and (128, 320): 3 * x, its first 320 columns times ``gain``."""
    out = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.shared_hbm)
    top = REGION - 320 * 2
    factors = nl.ndarray((128, 320), dtype=nl.bfloat16, buffer=nl.sbuf, address=(0, top))
    nisa.dma_copy(dst=factors, src=gain)

    next_byte = 0
    wide = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf, address=(0, next_byte))
    next_byte += 512 * 4
    nisa.dma_copy(dst=wide, src=x)

    inner = next_byte
    part = nl.ndarray((128, 320), dtype=nl.float32, buffer=nl.sbuf, address=(0, next_byte))
    next_byte += 320 * 4
    scaled = nl.ndarray((128, 320), dtype=nl.float32, buffer=nl.sbuf, address=(0, next_byte))
    nisa.tensor_copy(dst=part, src=wide[0:128, 0:320])
    nisa.tensor_tensor(dst=scaled, data1=part, data2=factors, op=nl.multiply)
    nisa.tensor_copy(dst=wide[0:128, 0:320], src=scaled)
    next_byte = inner

    tripled = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf, address=(0, next_byte))
    nisa.tensor_scalar(dst=tripled, data=wide, op0=nl.multiply, operand0=3.0)
    nisa.dma_copy(dst=out, src=tripled)
    return out


@nki.jit
def packed_by_manager(x, gain):
    """The same with scopes: closing one frees its part of the stack."""
    out = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.shared_hbm)
    manager = SbufManager(0, REGION)
    factors = manager.alloc_heap((128, 320), nl.bfloat16, name="factors")
    nisa.dma_copy(dst=factors, src=gain)

    manager.open_scope(name="all")
    wide = manager.alloc_stack((128, 512), nl.float32, name="wide")
    nisa.dma_copy(dst=wide, src=x)

    manager.open_scope(name="scaling")
    part = manager.alloc_stack((128, 320), nl.float32, name="part")
    scaled = manager.alloc_stack((128, 320), nl.float32, name="scaled")
    nisa.tensor_copy(dst=part, src=wide[0:128, 0:320])
    nisa.tensor_tensor(dst=scaled, data1=part, data2=factors, op=nl.multiply)
    nisa.tensor_copy(dst=wide[0:128, 0:320], src=scaled)
    manager.close_scope()

    tripled = manager.alloc_stack((128, 512), nl.float32, name="tripled")
    nisa.tensor_scalar(dst=tripled, data=wide, op0=nl.multiply, operand0=3.0)
    nisa.dma_copy(dst=out, src=tripled)
    manager.close_scope()
    manager.pop_heap()
    return out
