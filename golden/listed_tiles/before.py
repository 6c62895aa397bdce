"""A product of matrices whose operands, accumulators and two buffers are Python lists of tiles."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def listed_product(a, b):
    """(K, M) and (K, N) give (M, N): half of a.T @ b, each half of its columns plus the other half's largest."""
    depth, m = a.shape
    n = b.shape[1]
    columns = n // 2
    out = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.shared_hbm)

    left = [nl.load(a[k * 128:(k + 1) * 128, 0:m]) for k in range(depth // 128)]
    right = []
    for k in nl.static_range(depth // 128):
        right.append(nl.load(b[k * 128:(k + 1) * 128, 0:n]))

    totals = [nl.zeros((m, columns), dtype=nl.float32, buffer=nl.psum) for _ in range(2)]
    for half in nl.static_range(2):
        for k in nl.static_range(depth // 128):
            totals[half][...] += nisa.nc_matmul(left[k], right[k][:, half * columns:(half + 1) * columns])

    buffers = [
        nl.ndarray((m, columns), dtype=nl.float32, buffer=nl.sbuf),
        nl.ndarray((m, columns), dtype=nl.float32, buffer=nl.sbuf),
    ]
    largest = [nl.full((m, 1), -3.0, dtype=nl.float32, buffer=nl.sbuf) for _ in range(2)]
    for half, total in enumerate(totals):
        buffers[half][...] = nl.multiply(total, 0.5)
        largest[half][...] = nl.maximum(largest[half], nl.max(buffers[half], axis=1))
    for half in nl.static_range(len(buffers)):
        nl.store(out[0:m, half * columns:(half + 1) * columns], nl.add(buffers[half], largest[1 - half]))
    return out
