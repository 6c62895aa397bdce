"""Halves of numbers, with arguments of the older type."""

import tilelang.language as T


@T.prim_func
def halves(A: T.Tensor((64,), "float16"), B: T.Tensor((64,), "float16")):
    with T.Kernel(1, threads=64) as bx:
        part = T.alloc_shared((64,), "float16")
        T.copy(A, part)
        for i in T.Parallel(64):
            part[i] = part[i] / T.float16(2)
        T.copy(part, B)
