"""Rows handed over through one tile, with a barrier for full and one for empty."""

import tilelang.language as T


@T.prim_func
def handed_over(A: T.Tensor((4, 128), "float32"), B: T.Tensor((4, 128), "float32")):
    with T.Kernel(1, threads=128) as bx:
        tile = T.alloc_shared((128,), "float32")
        mbars = T.alloc_barrier([128, 128])
        for k in T.serial(4):
            T.mbarrier_wait_parity(mbars[1], (k % 2) ^ 1)
            for i in T.Parallel(128):
                tile[i] = A[k, i]
            T.mbarrier_arrive(mbars[0])
            T.mbarrier_wait_parity(mbars[0], k % 2)
            for i in T.Parallel(128):
                B[k, i] = tile[i]
            T.mbarrier_arrive(mbars[1])
