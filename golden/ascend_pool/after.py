"""Means of the rows of a tensor, with a memory pool for what is needed for a while."""

import tilelang
import tilelang.language as T

# bytes


@tilelang.jit(out_idx=[1])
def row_means(M, block=64):
    @T.prim_func
    def main(A: T.Tensor((M, 64), "float16"), Out: T.Tensor((M, 1), "float32")):
        with T.Kernel(M // (2 * block), is_npu=True) as (cid, vid):
            row = (cid * 2 + vid) * block
            sums = T.alloc_ub((block, 1), "float32")
            raw = T.alloc_ub((block, 64), "float16")
            T.copy(A[row, 0], raw)
            wide = T.alloc_ub((block, 64), "float32")
            T.copy(raw, wide)
            # the bytes of raw again
            scaled = T.alloc_ub((32, 64), "float32")
            T.annotate_address({sums: 65536, raw: 0, wide: 8192, scaled: 0})
            T.tile.fill(scaled, 0.0)
            T.reduce_sum(wide, sums, dim=-1)
            T.tile.mul(sums, sums, 1.0 / 64)
            T.copy(sums, Out[row, 0])

    return main
