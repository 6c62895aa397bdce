"""A tile that is a column or wide, and a product of which both operands are moved first."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


def weights(tile, each):
    """(P, F) weights, or one for each partition: (P, 1)."""
    if each:
        chosen = nl.exp(tile)
    else:
        chosen = tile[:, 0]
    return chosen


@nki.jit
def weighted(x, each=False):
    """(P, F): its weights less x."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x[0:rows, 0:columns], dtype=nl.float32)
    chosen = weights(tile, each)
    nl.store(out[0:rows, 0:columns], chosen - tile)
    return out


@nki.jit
def outer(x, y):
    """(P, P) and (P, P) give x @ y.T: x is transposed for the product, and y is in PSUM."""
    size = x.shape[0]
    out = nl.ndarray((2, size, size), dtype=nl.float32, buffer=nl.shared_hbm)
    left = nl.load(x[0:size, 0:size])
    right = nisa.nc_transpose(nl.load(y[0:size, 0:size]))
    nl.store(out[0], right)
    nl.store(out[1], nl.copy(nl.matmul(left, right), dtype=nl.float32))
    return out
