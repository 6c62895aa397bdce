"""Selections by the position of an element."""

import nki
import nki.isa as nisa
import nki.language as nl

WIDTH = 64


@nki.jit
def triangles(x, low):
    """(P, N) gives (2, P, N): ``low`` above the diagonal, and zero left of the line that falls two columns a row."""
    rows, columns = x.shape
    out = nl.ndarray((2, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for c in nl.affine_range(columns // WIDTH):
        tile = nl.ndarray((rows, WIDTH), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[:, nl.ds(c * WIDTH, WIDTH)])
        lower = nl.ndarray((rows, WIDTH), dtype=x.dtype, buffer=nl.sbuf)
        nisa.affine_select(
            dst=lower,
            pattern=[[-1, WIDTH]],
            offset=-(c * WIDTH),
            channel_multiplier=1,
            on_true_tile=tile,
            on_false_value=low,
            cmp_op=nl.greater_equal,
        )
        nisa.dma_copy(dst=out[0, :, nl.ds(c * WIDTH, WIDTH)], src=lower)
        right = nl.ndarray((rows, WIDTH), dtype=x.dtype, buffer=nl.sbuf)
        nisa.affine_select(
            dst=right,
            pattern=[[1, WIDTH]],
            offset=c * WIDTH,
            channel_multiplier=-2,
            on_true_tile=tile,
            on_false_value=0.0,
            cmp_op=nl.greater,
        )
        nisa.dma_copy(dst=out[1, :, nl.ds(c * WIDTH, WIDTH)], src=right)
    return out


@nki.jit
def causal(q, k, window):
    """(D, N) twice gives (N, N): the products where 0 <= row - column < window, else a large negative number."""
    _, size = q.shape
    out = nl.ndarray((size, size), dtype=nl.float32, buffer=nl.shared_hbm)
    queries = nl.ndarray((q.shape[0], size), dtype=q.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=queries, src=q)
    assert len(k.shape) > 1, "rewritten for 2 dimensions at least"
    keys = nl.ndarray(k.shape, dtype=k.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=keys, src=k)
    # predicates in variables; TensorE leaves the product in PSUM
    assert len(keys.shape) == 2, "rewritten for 2 dimensions"
    product = nl.ndarray((size, keys.shape[1]), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=product, stationary=queries, moving=keys)
    product_sbuf = nl.ndarray((size, keys.shape[1]), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=product_sbuf, src=product)
    assert size == keys.shape[1], "rewritten for index vectors as long as the tile"
    before = nl.ndarray((size, keys.shape[1]), dtype=nl.float32, buffer=nl.sbuf)
    nisa.affine_select(
        dst=before,
        pattern=[[-1, keys.shape[1]]],
        offset=0,
        channel_multiplier=1,
        on_true_tile=product_sbuf,
        on_false_value=-9984.0,
        cmp_op=nl.greater_equal,
    )
    selected = nl.ndarray((size, size), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.affine_select(
        dst=selected,
        pattern=[[1, size]],
        offset=window,
        channel_multiplier=-1,
        on_true_tile=before[:, 0:size],
        on_false_value=-9984.0,
        cmp_op=nl.greater,
    )
    # a vector that does not start at 0
    nisa.affine_select(
        dst=selected,
        pattern=[[-1, size]],
        offset=2,
        channel_multiplier=1,
        on_true_tile=selected,
        on_false_value=0.0,
        cmp_op=nl.greater_equal,
    )
    zeros_tile = nl.zeros((size, size), dtype=nl.float32, buffer=nl.sbuf)
    add_tile = nl.ndarray((size, size), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=add_tile, data1=selected, data2=zeros_tile, op=nl.add)
    nisa.dma_copy(dst=out, src=add_tile)
    return out
