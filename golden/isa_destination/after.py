"""Instructions that return a tile, in all the ways a result is used."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def standardised(x, gain):
    """(P, F) rows divided by their largest absolute element, times a gain (P, 1); and the turned first 32 columns."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    flat = nl.ndarray((32, rows), dtype=x.dtype, buffer=nl.shared_hbm)

    tile = nl.load(x)
    factor = nl.load(gain)
    # a name: a tile of its own
    magnitude = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.activation(dst=magnitude, op=nl.abs, data=tile)
    largest = nl.ndarray((rows, 1), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=largest, op=nl.maximum, data=magnitude, axis=1)
    inverse = nl.ndarray((rows, 1), dtype=x.dtype, buffer=nl.sbuf)
    nisa.reciprocal(dst=inverse, data=largest)
    # a subscript: the destination exists
    result = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=result, data=tile, op0=nl.multiply, operand0=inverse, op1=nl.multiply, operand1=factor)
    ones = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=ones, value=1.0)
    nisa.tensor_tensor(dst=result, data1=result, data2=ones, op=nl.multiply)
    nl.store(out, value=result)
    # PSUM, and a copy back
    turned = nl.ndarray((32, rows), dtype=x.dtype, buffer=nl.psum)
    nisa.nc_transpose(dst=turned, data=result[0:rows, 0:32])
    kept = nl.ndarray((32, rows), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=kept, src=turned)
    nl.store(flat, value=kept)
    return out, flat
