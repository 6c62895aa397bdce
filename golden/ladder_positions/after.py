"""A triangle of a matrix, transposed by the Tensor Engine and added to itself."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def lower(x):
    """(N, N) gives twice what is on and below the diagonal, transposed."""
    n, _ = x.shape
    out = nl.ndarray((n, n), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray((n, n), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(tile, x)
    kept = nl.ndarray((n, n), dtype=nl.float32, buffer=nl.sbuf)
    nisa.affine_select(
        kept,
        [[-1, n]],
        offset=0,
        channel_multiplier=1,
        on_true_tile=tile,
        on_false_value=0.0,
        cmp_op=nl.greater_equal,
    )
    ones = nl.ndarray((n, n), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=ones, value=1.0)
    identity = nl.ndarray((n, n), dtype=nl.float32, buffer=nl.sbuf)
    nisa.affine_select(
        identity,
        [[-1, n]],
        offset=0,
        channel_multiplier=1,
        on_true_tile=ones,
        on_false_value=0.0,
        cmp_op=nl.equal,
    )
    turned = nl.ndarray((n, n), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(
        turned,
        kept,
        identity,
        False,
        False,
        False,
        tile_position=(0, 0),
        tile_size=(128, 128),
    )
    result = nl.ndarray((n, n), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=result, src=turned)
    twice = nl.ndarray((n, n), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_compute(twice, [result, result], scales=[1.0, 1.0], reduce_op=nl.add)
    nisa.dma_copy(dst=out, src=twice)
    return out
