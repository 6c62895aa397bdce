"""A product of matrices in expert mode."""

import tilelang
import tilelang.language as T

pass_configs = {
    tilelang.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilelang.PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True,
    tilelang.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
}


@tilelang.jit(out_idx=[-1], pass_configs=pass_configs)
def product(M, N, K, block=32, step=16):
    @T.prim_func
    def main(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(M // block, is_npu=True) as (cid, _):
            a = T.alloc_shared((block, step), "float16")
            b = T.alloc_shared((step, N), "float16")
            c = T.alloc_fragment((block, N), "float32")

            for k in T.serial(K // step):
                T.copy(A[cid * block, k * step], a)
                T.copy(B[k * step, 0], b)

                # from the first step on
                T.gemm_v0(a, b, c, init=(k == 0))

            T.copy(c, C[cid * block, 0])

    return main
