"""Computations of nki.language."""

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
def shares(x, y):
    """(P, F) twice: exp(x - max) over its sum, times y, plus a half."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    a = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=x)
    b = nl.ndarray(y.shape, dtype=y.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=b, src=y)
    highest = nl.ndarray((rows, 1), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=highest, op=nl.maximum, data=a, axis=1)
    # a tile and a (P, 1) tile
    shifted = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=shifted, data=a, op0=nl.subtract, operand0=highest)
    power = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.activation(dst=power, op=nl.exp, data=shifted)
    total = nl.ndarray((rows, 1), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=total, op=nl.add, data=power, axis=1)
    inverse = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.reciprocal(dst=inverse, data=total)
    share = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=share, data=power, op0=nl.multiply, operand0=inverse)
    # two tiles, then a tile and a number, on either side
    weighted = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    combined(dst=weighted, a=share, b=b, op=nl.multiply)
    shifted_again = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=shifted_again, data=weighted, op0=nl.add, operand0=0.5)
    flipped = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(
        dst=flipped, data=shifted_again, op0=nl.subtract, operand0=2.0, reverse0=True
    )
    result = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(
        dst=result,
        data=flipped,
        op0=nl.minimum,
        operand0=1.75,
        op1=nl.maximum,
        operand1=1.0,
    )
    nisa.dma_copy(dst=out, src=result)
    return out
