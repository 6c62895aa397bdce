"""Operators written with numpy and with the names that are functions."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def row_statistics(x):
    """(P, F) gives (P, 4): maximum, minimum, sum, and sum of exponentials of the distance to the maximum."""
    rows, columns = x.shape
    out = nl.ndarray((rows, 4), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    found = nl.ndarray((rows, 4), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=found[:, 0:1], op=nl.maximum, data=tile, axis=1)
    nisa.tensor_reduce(dst=found[:, 1:2], op=nl.minimum, data=tile, axis=1)
    nisa.tensor_reduce(dst=found[:, 2:3], op=nl.add, data=tile, axis=1)
    lowest = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=lowest, data=found[:, 0:1], op0=nl.multiply, operand0=-1.0)
    powers = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.activation_reduce(
        dst=powers, op=nl.exp, data=tile, reduce_op=nl.add, reduce_res=found[:, 3:4], bias=lowest
    )
    near = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=near, data=powers, op0=nl.maximum, operand0=0.5, op1=nl.subtract, operand1=0.5)
    largest = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=largest, data1=near, data2=powers, op=nl.maximum)
    ranged = nl.ndarray((rows, 1), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=ranged, op=nl.maximum, data=largest, axis=1)
    nisa.tensor_tensor(dst=found[:, 3:4], data1=found[:, 3:4], data2=ranged, op=nl.add)
    nisa.dma_copy(dst=out, src=found)
    return out


def applied(tile, function, scaled=nl.multiply):
    """A tile under an activation function that the caller names, doubled."""
    activation_tile = nl.ndarray(tile.shape, dtype=tile.dtype, buffer=nl.sbuf)
    nisa.activation(dst=activation_tile, op=function, data=tile)
    tensor_scalar_tile = nl.ndarray(tile.shape, dtype=tile.dtype, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=tensor_scalar_tile, data=activation_tile, op0=scaled, operand0=2.0)
    return tensor_scalar_tile


@nki.jit
def chosen_operators(x, gated=True, largest=False):
    """(P, F) gives (P, 2): functions under names that branches tell, and as arguments of a function."""
    rows, columns = x.shape
    out = nl.ndarray((rows, 2), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    function = nl.silu if gated else nl.relu
    if largest:
        reduction = nl.maximum
    else:
        reduction = nl.add
    found = nl.ndarray((rows, 2), dtype=nl.float32, buffer=nl.sbuf)
    shown = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.activation(dst=shown, op=function, data=tile)
    nisa.tensor_reduce(dst=found[:, 0:1], op=reduction, data=shown, axis=1)
    doubled = applied(tile, nl.tanh)
    nisa.tensor_reduce(dst=found[:, 1:2], op=nl.maximum if largest else nl.add, data=doubled, axis=1)
    nisa.dma_copy(dst=out, src=found)
    return out
