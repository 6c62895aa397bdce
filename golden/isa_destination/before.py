"""Instructions that return a tile, in all the ways a result is used."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def standardised(x, gain):
    """(P, F) rows divided by their largest absolute element, times a gain (P, 1); and the turned first 32 columns."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    flat = nl.ndarray((32, rows), dtype=x.dtype, buffer=nl.shared_hbm)

    tile = nl.load(x)
    factor = nl.load(gain)
    # a name: a tile of its own
    magnitude = nisa.activation(op=nl.abs, data=tile)
    largest = nisa.tensor_reduce(nl.maximum, magnitude, axis=[1])
    inverse = nisa.reciprocal(largest)
    # a subscript: the destination exists
    result = nl.ndarray((nl.par_dim(rows), columns), dtype=x.dtype, buffer=nl.sbuf)
    result[...] = nisa.tensor_scalar(tile, op0=nl.multiply, operand0=inverse, op1=nl.multiply, operand1=factor)
    ones = nisa.memset((rows, columns), value=1.0, dtype=nl.float32)
    result[0:rows, 0:columns] = nisa.tensor_tensor(result[0:rows, 0:columns], ones, op=nl.multiply)
    nl.store(out, value=result)
    # PSUM, and a copy back
    turned = nisa.nc_transpose(result[0:rows, 0:32])
    kept = nisa.tensor_copy(turned)
    nl.store(flat, value=kept)
    return out, flat
