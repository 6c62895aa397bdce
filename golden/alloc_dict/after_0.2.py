"""Products of all pairs of two lists of matrices, each in the PSUM bank that a table gives it."""

import nki
import nki.isa as nisa
import nki.language as nl


def bank_of(bank_map, idx, pdim_size, fdim_size):
    return (bank_map[idx[0]][idx[1]], 0, 0)


@nki.jit
def pair_products(a, b):
    """(2, K, M) and (2, K, N) give (2, 2, M, N): out[i, j] = a[i].T @ b[j]."""
    _, depth, m = a.shape
    _, _, n = b.shape
    out = nl.ndarray((2, 2, m, n), dtype=nl.float32, buffer=nl.shared_hbm)

    left = nl.ndarray((depth, 2, m), dtype=nl.float32, buffer=nl.sbuf, address=(0, 0))
    right = nl.ndarray((depth, 2, n), dtype=nl.float32, buffer=nl.sbuf, address=(0, 2 * m * 4))
    copied = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.sbuf, address=(0, 2 * (m + n) * 4))
    product = []
    for i in range(2):
        product.append([])
        for j in range(2):
            bank, partition, byte = bank_of(bank_map=((1, 6), (3, 4)), idx=(i, j), pdim_size=m, fdim_size=n * 4)
            product[i].append(
                nl.ndarray((m, n), dtype=nl.float32, buffer=nl.psum, address=(partition, bank * 2048 + byte))
            )

    for i in nl.affine_range(2):
        nisa.dma_copy(dst=left[:, i, :], src=a[i])
        nisa.dma_copy(dst=right[:, i, :], src=b[i])
    for i in nl.affine_range(2):
        for j in nl.affine_range(2):
            nisa.nc_matmul(dst=product[i][j], stationary=left[:, i, :], moving=right[:, j, :])
    for i in nl.affine_range(2):
        for j in nl.affine_range(2):
            nisa.tensor_copy(dst=copied, src=product[i][j])
            nisa.dma_copy(dst=out[i, j], src=copied)
    return out
