"""Arithmetic on tiles with Python operators."""

import nki
import nki.language as nl
import nki.isa as nisa


def product(sizes):
    """The product of some sizes."""
    result = 1
    for size in sizes:
        result = result * size
    return result


def combined(dst, a, b, op, ordered=False):
    """``a op b`` of tiles of one shape, or of which one has one element in each partition."""
    free_a = product(a.shape[1:])
    free_b = product(b.shape[1:])
    assert a.shape[0] == b.shape[0], "combined: tiles of different partitions"
    if free_a == free_b:
        assert a.shape == b.shape or free_a == 1, "combined: tiles of different shapes"
        nisa.tensor_tensor(dst=dst, data1=a, data2=b, op=op)
    elif free_b == 1:
        nisa.tensor_scalar(dst=dst, data=a, op0=op, operand0=b)
    else:
        assert free_a == 1, "combined: tiles of different sizes"
        nisa.tensor_scalar(dst=dst, data=b, op0=op, operand0=a, reverse0=ordered)


@nki.jit
def blended(x, y, weight):
    """(P, F) twice: x * weight + y * (1 - weight), and the same with y negated, in place."""
    rows, columns = x.shape
    out = nl.ndarray((2, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    a = nl.load(x)
    b = nl.load(y)
    share = float(weight)
    a_scaled = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=a_scaled, data=a, op0=nl.multiply, operand0=share)
    b_scaled = nl.ndarray(b.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=b_scaled, data=b, op0=nl.multiply, operand0=1.0 - weight)
    blend = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    combined(dst=blend, a=a_scaled, b=b_scaled, op=nl.add)
    nl.store(out[0], value=blend)
    result = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=result, data=a, op0=nl.multiply, operand0=weight)
    b_scaled_2 = nl.ndarray(b.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=b_scaled_2, data=b, op0=nl.multiply, operand0=1.0 - weight)
    combined(dst=result, a=result, b=b_scaled_2, op=nl.subtract, ordered=True)
    difference_tile = nl.subtract(a, a)
    nisa.tensor_tensor(dst=result, data1=result, data2=difference_tile, op=nl.add)
    nl.store(out[1], value=result)
    return out
