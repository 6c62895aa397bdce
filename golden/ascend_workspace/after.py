"""Bytes on their way through a workspace in global memory."""

import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[1], workspace_idx=[2])
def through(N):
    @T.prim_func
    def main(A: T.Tensor((N,), "uint8"), B: T.Tensor((N,), "uint8"), staged: T.Tensor([N], "uint8")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            half = T.alloc_ub((N,), "uint8")
            T.copy(A, half)  # in
            T.barrier_all()
            T.copy(half, staged)
            T.copy(staged, half)
            T.copy(half, B)

    return main
