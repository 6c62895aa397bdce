"""Variables declared in each form that every version takes."""

import tilelang.language as T


@T.prim_func
def count(A: T.Tensor((32,), "int32"), B: T.Tensor((32,), "int32")):
    with T.Kernel(1, threads=32) as bx:
        first = T.alloc_var("int32", init=3)
        second = T.alloc_var("int32", scope="local.var")
        third = T.alloc_var("int32", init=4, scope="local.var")
        fifth = T.alloc_var("int32", init=5)
        for i in T.serial(4):
            second += i
        for i in T.Parallel(32):
            B[i] = A[i] + first + second * third - fifth
