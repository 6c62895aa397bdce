"""Rows handed over through one tile, with a barrier for full and one for empty."""

import tilelang.language as T


@T.prim_func
def handed_over(A: T.Tensor((4, 128), "float32"), B: T.Tensor((4, 128), "float32")):
    with T.Kernel(1, threads=128) as bx:
        tile = T.alloc_shared((128,), "float32")
        T.create_list_of_mbarrier(128, 128)
        for k in T.serial(4):
            T.mbarrier_wait_parity(1, (k % 2) ^ 1)
            for i in T.Parallel(128):
                tile[i] = A[k, i]
            T.mbarrier_arrive(0)
            T.mbarrier_wait_parity(T.get_mbarrier(0), k % 2)
            for i in T.Parallel(128):
                B[k, i] = tile[i]
            T.mbarrier_arrive(T.get_mbarrier(1))
