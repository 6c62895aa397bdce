"""Rows scaled through registers that a parallel loop indexes."""

import tilelang.language as T


@T.prim_func
def scale(A: T.Tensor((64, 32), "float32"), B: T.Tensor((64, 32), "float32")):
    with T.Kernel(2, threads=64) as bx:
        row = T.alloc_fragment((32, 32), "float32")
        for i, j in T.Parallel(32, 32):
            row[i, j] = A[bx * 32 + i, j] * 3.0
        for i, j in T.Parallel(32, 32):
            B[bx * 32 + i, j] = row[i, j] + 1.0
