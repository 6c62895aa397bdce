"""Rows of two tensors, added: the seed's calls for every buffer."""

import tilelang
import tilelang.language as T


@T.prim_func
def vector_add(
    A: T.Tensor((256, 64), "float32"),
    B: T.Tensor((256, 64), "float32"),
    C: T.Tensor((256, 64), "float32"),
):
    with T.Kernel(2, is_npu=True) as (cid, vid):
        row = cid * 128 + vid * 64
        a = T.alloc_ub((64, 64), "float32")
        b = T.alloc_ub((64, 64), "float32")
        T.copy(A[row, 0], a)
        T.copy(B[row, 0], b)
        total = T.alloc_ub((64, 64), "float32")
        # the sum lives as long as this block
        T.tile.add(total, a, b)
        T.copy(total, C[row, 0])
        # in this order
