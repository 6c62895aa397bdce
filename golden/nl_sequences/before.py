"""Functions of the language that are several instructions."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def gated(x, y):
    """(M, K) and (N, K): x @ y.T where it is positive, -1 elsewhere; and the row means of x."""
    assert x.shape[1] == y.shape[1]
    out = nl.ndarray((x.shape[0], y.shape[0]), dtype=nl.float32, buffer=nl.shared_hbm)
    means = nl.ndarray((x.shape[0], 1), dtype=x.dtype, buffer=nl.shared_hbm)
    back = nl.ndarray(y.shape, dtype=y.dtype, buffer=nl.shared_hbm)

    left = nl.load(x)
    right = nl.load_transpose2d(y)
    product = nl.copy(nl.matmul(left, right))
    positive = nl.greater(product, 0.0)
    nl.store(out, value=nl.where(positive, product, -1.0))
    nl.store(means, value=nl.mean(left, axis=1))
    nl.store(back, value=nl.transpose(right))
    return out, means, back
