"""A product of tiles and a vector operation behind it: the compiler gives the addresses."""

import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[-1])
def scaled_product(M, block=32):
    @T.prim_func
    def main(
        A: T.Tensor((M, 32), "float16"),
        B: T.Tensor((32, 32), "float16"),
        C: T.Tensor((M, 32), "float32"),
    ):
        with T.Kernel(M // block, is_npu=True) as (cid, vid):
            a = T.alloc_L1((block, 32), "float16")
            b = T.alloc_L1((32, 32), "float16")
            c = T.alloc_L0C((block, 32), "float32")
            row = T.alloc_ub((block // 2, 32), "float32")
            scale = T.alloc_ub((7,), "float32")  # padded to 32 bytes
            mean = T.alloc_ub((block // 2, 1), "float32")

            T.copy(A[cid * block, 0], a)
            T.copy(B, b)
            T.gemm_v0(a, b, c, init=True)
            T.copy(c[vid * (block // 2) : (vid + 1) * (block // 2), :], row)
            T.tile.fill(scale, 2.0)
            T.tile.mul(row, row, scale[0])
            T.reduce_sum(row, mean, dim=-1)
            T.tile.add(row, row, 1.0)
            T.copy(row, C[cid * block + vid * (block // 2), 0])

    return main
