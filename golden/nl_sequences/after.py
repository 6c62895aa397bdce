"""Functions of the language that are several instructions."""

import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def gated(x, y):
    """(M, K) and (N, K): x @ y.T where it is positive, -1 elsewhere; and the row means of x."""
    assert x.shape[1] == y.shape[1]
    out = nl.ndarray((x.shape[0], y.shape[0]), dtype=nl.float32, buffer=nl.shared_hbm)
    means = nl.ndarray((x.shape[0], 1), dtype=x.dtype, buffer=nl.shared_hbm)
    back = nl.ndarray(y.shape, dtype=y.dtype, buffer=nl.shared_hbm)

    left = nl.load(x)
    assert len(y.shape) == 2, "rewritten for 2 dimensions"
    right = nl.ndarray((y.shape[1], y.shape[0]), dtype=y.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=right, src=y.ap(pattern=[[1, y.shape[1]], [y.shape[1], y.shape[0]]]))
    assert len(left.shape) == 2, "rewritten for 2 dimensions"
    left_transposed = nl.ndarray((left.shape[1], left.shape[0]), dtype=x.dtype, buffer=nl.psum)
    nisa.nc_transpose(dst=left_transposed, data=left)
    left_transposed_sbuf = nl.ndarray(
        (left.shape[1], left.shape[0]), dtype=x.dtype, buffer=nl.sbuf
    )
    nisa.tensor_copy(dst=left_transposed_sbuf, src=left_transposed)
    product_tile = nl.ndarray((left.shape[0], y.shape[0]), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=product_tile, stationary=left_transposed_sbuf, moving=right)
    product = nl.ndarray((left.shape[0], y.shape[0]), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=product, src=product_tile)
    positive = nl.ndarray((left.shape[0], y.shape[0]), dtype=nl.uint8, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=positive, data=product, op0=nl.greater, operand0=0.0)
    where_tile = nl.ndarray((left.shape[0], y.shape[0]), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=where_tile, value=-1.0)
    nisa.tensor_copy_predicated(dst=where_tile, src=product, predicate=positive)
    nl.store(out, value=where_tile)
    reduced_tile = nl.ndarray((left.shape[0], 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=reduced_tile, op=nl.add, data=left, axis=len(left.shape) - 1)
    assert x.dtype in (nl.float32, nl.bfloat16, nl.float16), "rewritten for floats"
    reduced_mean = nl.ndarray((left.shape[0], 1), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_scalar(
        dst=reduced_mean, data=reduced_tile, op0=nl.multiply, operand0=1.0 / left.shape[1]
    )
    nl.store(means, value=reduced_mean)
    right_transposed = nl.ndarray(y.shape, dtype=y.dtype, buffer=nl.psum)
    nisa.nc_transpose(dst=right_transposed, data=right)
    right_transposed_sbuf = nl.ndarray(y.shape, dtype=y.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=right_transposed_sbuf, src=right_transposed)
    nl.store(back, value=right_transposed_sbuf)
    return out, means, back
