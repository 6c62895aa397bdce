"""Running sums, in a local buffer of one element."""

import tilelang.language as T


@T.prim_func
def running(A: T.Tensor((16,), "float32"), B: T.Tensor((16,), "float32")):
    with T.Kernel(1, threads=32) as bx:
        total = T.alloc_local((1,), "float32")
        total[0] = 0.5
        for i in T.serial(16):
            total[0] += A[i]
            B[i] = T.max(total[0], 0.0)
