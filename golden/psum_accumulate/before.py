"""A product of matrices with a long inner dimension, accumulated in PSUM."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def long_product(a, b):
    """(K, M) and (K, N) give (2, M, N): a.T @ b, and b reversed in its chunks of 128 rows."""
    depth, m = a.shape
    n = b.shape[1]
    chunks = depth // 128
    out = nl.ndarray((2, m, n), dtype=nl.float32, buffer=nl.shared_hbm)

    total = nl.zeros((m, n), dtype=nl.float32, buffer=nl.psum)
    crossed = nl.ndarray((nl.par_dim(m), n), dtype=nl.float32, buffer=nl.psum)
    for k in nl.affine_range(chunks):
        left = nl.load(a[k * 128:(k + 1) * 128, 0:m])
        right = nl.load(b[k * 128:(k + 1) * 128, 0:n])
        other = nl.load(b[(chunks - 1 - k) * 128:(chunks - k) * 128, 0:n])
        total += nl.matmul(left, right, transpose_x=True)
        crossed[...] += nisa.nc_matmul(left, other)
    summed = nl.copy(total)
    nl.store(out[0], value=summed)
    swapped = nl.multiply(crossed, 0.5)
    nl.store(out[1], value=swapped)
    return out
