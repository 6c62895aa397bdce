"""A product of matrices, and a sum of vectors, for the fork."""

import tilelang
import tilelang.ascend.language as T


@T.prim_func
def product(
    A: T.Tensor((256, 128), "float16"),
    B: T.Tensor((128, 128), "float16"),  # columns first
    C: T.Tensor((256, 128), "float32"),
):
    with T.Kernel(2) as cid:
        a = T.alloc_l1((128, 64), "float16")
        b = T.alloc_l1((128, 64), "float16")
        c = T.alloc_l0c((128, 128), "float32")
        for k in T.serial(2):
            T.copy(A[cid * 128, k * 64], a)
            T.copy(B[0, k * 64], b)
            T.gemm(a, b, c, transpose_B=True, clear_accum=(k == 0))
        T.copy(c, C[cid * 128, 0])


@T.prim_func
def vector_add(
    A: T.Tensor((4096,), "float32"),
    B: T.Tensor((4096,), "float32"),
    C: T.Tensor((4096,), "float32"),
):
    with T.Kernel(4) as cid:
        a = T.alloc_shared((1024,), "float32")
        b = T.alloc_shared((1024,), "float32")
        c = T.alloc_shared((1024,), "float32")
        T.copy(A[cid * 1024], a)
        T.copy(B[cid * 1024], b)
        with T.SimdVF():
            for i in T.Parallel(1024):
                c[i] = a[i] + b[i]
        T.copy(c, C[cid * 1024])
