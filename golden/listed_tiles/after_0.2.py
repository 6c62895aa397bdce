"""A product of matrices whose operands, accumulators and two buffers are Python lists of tiles."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def listed_product(a, b):
    """(K, M) and (K, N) give (M, N): half of a.T @ b, each half of its columns plus the other half's largest."""
    depth, m = a.shape
    n = b.shape[1]
    columns = n // 2
    out = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.shared_hbm)

    left = []
    for k in range(depth // 128):
        a_tile = nl.ndarray((128, m), dtype=a.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=a_tile, src=a[k * 128 : (k + 1) * 128, 0:m])
        left.append(a_tile)
    right = []
    assert len(b.shape) == 2, "rewritten for 2 dimensions"
    for k in nl.static_range(depth // 128):
        b_tile = nl.ndarray((128, n), dtype=b.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=b_tile, src=b[k * 128 : (k + 1) * 128, 0:n])
        right.append(b_tile)

    totals = []
    for _ in range(2):
        totals.append(nl.ndarray((m, columns), dtype=nl.float32, buffer=nl.psum))
    assert depth // 128 > 0, "rewritten for loops that run"
    for half in nl.static_range(2):
        for k in nl.static_range(depth // 128):
            nisa.nc_matmul(
                dst=totals[half], stationary=left[k], moving=right[k][:, half * columns : (half + 1) * columns]
            )

    buffers = [
        nl.ndarray((m, columns), dtype=nl.float32, buffer=nl.sbuf),
        nl.ndarray((m, columns), dtype=nl.float32, buffer=nl.sbuf),
    ]
    largest = []
    for _ in range(2):
        largest_tile = nl.ndarray((m, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=largest_tile, value=-3.0)
        largest.append(largest_tile)
    for half in range(len(totals)):
        total = totals[half]
        nisa.tensor_scalar(dst=buffers[half], data=total, op0=nl.multiply, operand0=0.5)
        buffers_max = nl.ndarray((m, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=buffers_max, op=nl.maximum, data=buffers[half], axis=1)
        nisa.tensor_tensor(dst=largest[half], data1=largest[half], data2=buffers_max, op=nl.maximum)
    for half in nl.static_range(len(buffers)):
        add_tile = nl.ndarray((m, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=add_tile, data=buffers[half], op0=nl.add, operand0=largest[1 - half])
        nisa.dma_copy(dst=out[0:m, half * columns : (half + 1) * columns], src=add_tile)
    return out
