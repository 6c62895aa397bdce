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
