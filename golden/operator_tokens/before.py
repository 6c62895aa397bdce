"""Operators written with numpy and with the names that are functions."""

import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def row_statistics(x):
    """(P, F) gives (P, 4): maximum, minimum, sum, and sum of exponentials of the distance to the maximum."""
    rows, columns = x.shape
    out = nl.ndarray((rows, 4), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x)
    found = nl.ndarray((nl.par_dim(rows), 4), dtype=nl.float32, buffer=nl.sbuf)
    found[:, 0:1] = nisa.tensor_reduce(op=nl.max, data=tile, axis=[1])
    found[:, 1:2] = nisa.tensor_reduce(np.min, tile, axis=(1,))
    found[:, 2:3] = nisa.tensor_reduce(np.sum, data=tile, axis=[1])
    lowest = nisa.tensor_scalar(found[:, 0:1], np.multiply, -1.0)
    powers = nisa.activation_reduce(np.exp, tile, reduce_op=np.add, reduce_res=found[:, 3:4], bias=lowest)
    near = nisa.tensor_scalar(powers, op0=nl.max, operand0=0.5, op1=np.subtract, operand1=0.5)
    largest = nisa.tensor_tensor(near, powers, op=np.maximum)
    ranged = nisa.tensor_reduce(np.amax, largest, axis=[1])
    found[:, 3:4] = nisa.tensor_tensor(found[:, 3:4], ranged, np.add)
    nl.store(out, value=found)
    return out


def applied(tile, function, scaled=np.multiply):
    """A tile under an activation function that the caller names, doubled."""
    return nisa.tensor_scalar(nisa.activation(op=function, data=tile), scaled, 2.0)


@nki.jit
def chosen_operators(x, gated=True, largest=False):
    """(P, F) gives (P, 2): functions under names that branches tell, and as arguments of a function."""
    rows, columns = x.shape
    out = nl.ndarray((rows, 2), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x)
    function = nl.silu if gated else nl.relu
    if largest:
        reduction = np.max
    else:
        reduction = np.sum
    found = nl.ndarray((nl.par_dim(rows), 2), dtype=nl.float32, buffer=nl.sbuf)
    shown = nisa.activation(op=function, data=tile)
    found[:, 0:1] = nisa.tensor_reduce(reduction, shown, axis=[1])
    doubled = applied(tile, np.tanh)
    found[:, 1:2] = nisa.tensor_reduce(np.max if largest else np.add, doubled, axis=[1])
    nl.store(out, value=found)
    return out
