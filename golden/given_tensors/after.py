"""Tensors that a kernel is given in tuples, and loops over."""

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
def weighted(x, weights, shifts):
    """(P, F) times each weight, and exponentials of each shift less the sum of all: (W, P, F) and (S, P, F)."""
    rows, columns = x.shape
    out = nl.ndarray((len(weights), rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    shifted = nl.ndarray((len(shifts), rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x, dtype=nl.float32)
    for i in range(len(weights)):
        weight = weights[i]
        weight_tile = nl.load(weight, dtype=nl.float32)
        multiply_tile = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
        combined(dst=multiply_tile, a=tile, b=weight_tile, op=nl.multiply)
        nl.store(out[i], value=multiply_tile)
    total = nl.zeros((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    for shift in shifts:
        shift_tile = nl.load(shift, dtype=nl.float32)
        combined(dst=total, a=total, b=shift_tile, op=nl.add)
    for i in range(len(shifts)):
        shift = shifts[i]
        shift_tile_2 = nl.load(shift, dtype=nl.float32)
        subtract_tile = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
        combined(dst=subtract_tile, a=shift_tile_2, b=total, op=nl.subtract, ordered=True)
        subtract_exp = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=subtract_exp, op=nl.exp, data=subtract_tile)
        nl.store(shifted[i], value=subtract_exp)
    return out, shifted
