"""Negative numbers of a tensor whose rows a launch counts."""

import tilelang.language as T

m = T.dynamic("m")


@T.prim_func
def negative(A: T.Tensor((m, 16), "float32"), B: T.Tensor((m, 16), "float32")):
    with T.Kernel(T.ceildiv(m, 8), threads=64) as bx:
        tile = T.alloc_shared((8, 16), "float32")
        T.copy(A[bx * 8, 0], tile)
        for i, j in T.Parallel(8, 16):
            tile[i, j] = 0 - tile[i, j]
        T.copy(tile, B[bx * 8, 0])
