"""Arithmetic on tiles with Python operators."""

from neuronxcc import nki
import neuronxcc.nki.language as nl


@nki.jit
def blended(x, y, weight):
    """(P, F) twice: x * weight + y * (1 - weight), and the same with y negated, in place."""
    rows, columns = x.shape
    out = nl.ndarray((2, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    a = nl.load(x)
    b = nl.load(y)
    share = float(weight)
    blend = a * share + b * (1.0 - weight)
    nl.store(out[0], value=blend)
    result = nl.ndarray((nl.par_dim(rows), columns), dtype=x.dtype, buffer=nl.sbuf)
    result[...] = a * weight
    result[...] -= b * (1.0 - weight)
    result += a - a
    nl.store(out[1], value=result)
    return out
