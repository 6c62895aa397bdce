"""Means of the rows of a tensor, with a memory pool for what is needed for a while."""

import tilelang
import tilelang.language as T

pool = T.memory_pool(
    max_size=64 * 1024,  # bytes
    block_size=4096,
    scope="shared",
)


@tilelang.jit(out_idx=[1])
def row_means(M, block=64):
    @T.prim_func
    def main(A: T.Tensor((M, 64), "float16"), Out: T.Tensor((M, 1), "float32")):
        with T.Kernel(M // (2 * block), is_npu=True) as (cid, vid):
            row = (cid * 2 + vid) * block
            sums = T.alloc_buffer((block, 1), "float32", scope="shared", alignment=256)
            raw = pool.allocate(shape=(block, 64), dtype="float16")
            T.copy(A[row, 0], raw)
            wide = pool.allocate(shape=(block, 64), dtype="float32")
            T.copy(raw, wide)
            pool.free(raw)
            # the bytes of raw again
            scaled = pool.allocate(shape=(32, 64), dtype="float32")
            T.tile.fill(scaled, 0.0)
            T.reduce_sum(wide, sums, dim=-1)
            pool.free(scaled)
            pool.free(wide)
            T.tile.mul(sums, sums, 1.0 / 64)
            T.copy(sums, Out[row, 0])

    return main
