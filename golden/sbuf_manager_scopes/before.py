"""One layout after another: an address that is put back, and factors that end where the region ends."""

from neuronxcc import nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
from neuronxcc.nki.language import par_dim

sb_mod = nki.compiler.sbuf.mod_alloc

REGION = 16384


@nki.jit
def packed(x, gain):
    """(P, N) and (P, M) with M < N: 3 * x, its first M columns times ``gain``."""
    rows, width = x.shape
    _, narrow = gain.shape
    out = nl.ndarray((rows, width), dtype=nl.float32, buffer=nl.shared_hbm)

    factors = nl.ndarray((par_dim(rows), narrow), dtype=nl.bfloat16, buffer=sb_mod(base_addr=REGION - narrow * 2))
    factors[...] = nl.load(gain)

    next_byte = 0
    wide = nl.ndarray((par_dim(rows), width), dtype=nl.float32, buffer=sb_mod(base_addr=next_byte))
    next_byte += width * 4
    wide[...] = nl.load(x)

    # what scaling needs is free again afterwards
    inner = next_byte
    part = nl.ndarray((par_dim(rows), narrow), dtype=nl.float32, buffer=sb_mod(base_addr=next_byte))
    next_byte += narrow * 4
    scaled = nl.ndarray((par_dim(rows), narrow), dtype=nl.float32, buffer=sb_mod(base_addr=next_byte))
    part[...] = nisa.tensor_copy(wide[0:rows, 0:narrow])
    scaled[...] = nisa.tensor_tensor(part, factors, op=nl.multiply)
    wide[0:rows, 0:narrow] = nisa.tensor_copy(scaled)
    next_byte = inner

    tripled = nl.ndarray((par_dim(rows), width), dtype=nl.float32, buffer=sb_mod(base_addr=next_byte))
    tripled[...] = nisa.tensor_scalar(wide, op0=nl.multiply, operand0=3.0)
    nl.store(out, value=tripled)
    return out
