"""Bytes on their way through a workspace in global memory."""

import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[1])
def through(N):
    @T.prim_func
    def main(A: T.Tensor((N,), "uint8"), B: T.Tensor((N,), "uint8")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            staged = T.workspace(N)
            half = T.alloc_ub((N,), "uint8")
            with T.stream("transfer"):
                T.copy(A, half)  # in
            T.copy(half, staged)
            T.copy(staged, half)
            T.copy(half, B)

    return main
