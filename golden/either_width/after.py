"""A tile that is a column or wide, and a product of which both operands are moved first."""

import nki
import nki.isa as nisa
import nki.language as nl


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


def weights(tile, each):
    """(P, F) weights, or one for each partition: (P, 1)."""
    if each:
        chosen = nl.exp(tile)
    else:
        chosen = tile[:, 0:1]
    return chosen


@nki.jit
def weighted(x, each=False):
    """(P, F): its weights less x."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x, dtype=nl.float32)
    chosen = weights(tile, each)
    difference_tile = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    combined(dst=difference_tile, a=chosen, b=tile, op=nl.subtract, ordered=True)
    nl.store(out, difference_tile)
    return out


@nki.jit
def outer(x, y):
    """(P, P) and (P, P) give x @ y.T: x is transposed for the product, and y is in PSUM."""
    size = x.shape[0]
    out = nl.ndarray((2, size, size), dtype=nl.float32, buffer=nl.shared_hbm)
    left = nl.load(x[0:size, 0:size])
    y_tile = nl.load(y[0:size, 0:size])
    right = nl.ndarray((size, size), dtype=y.dtype, buffer=nl.psum)
    nisa.nc_transpose(dst=right, data=y_tile)
    right_sbuf = nl.ndarray((size, size), dtype=y.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=right_sbuf, src=right)
    nl.store(out[0], right_sbuf)
    left_transposed = nl.ndarray((size, size), dtype=x.dtype, buffer=nl.psum)
    nisa.nc_transpose(dst=left_transposed, data=left)
    left_transposed_sbuf = nl.ndarray((size, size), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=left_transposed_sbuf, src=left_transposed)
    right_sbuf_2 = nl.ndarray((size, size), dtype=y.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=right_sbuf_2, src=right)
    product_tile = nl.ndarray((size, size), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=product_tile, stationary=left_transposed_sbuf, moving=right_sbuf_2)
    product_sbuf = nl.ndarray((size, size), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=product_sbuf, src=product_tile)
    nl.store(out[1], product_sbuf)
    return out
