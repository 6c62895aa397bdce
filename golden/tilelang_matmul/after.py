"""A product of matrices, each row of a tile less its largest element."""

import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[-1])
def matmul(M, N, K, block_M=32, block_N=32, block_K=32, dtype="float16"):
    @T.prim_func
    def main(A: T.Tensor((M, K), dtype), B: T.Tensor((K, N), dtype), C: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), dtype)
            B_shared = T.alloc_shared((block_K, block_N), dtype)
            C_local = T.alloc_fragment((block_M, block_N), "float32")
            peak = T.alloc_reducer((block_M,), "float32", op="max")
            peak_result = T.alloc_fragment((block_M,), "float32")

            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
                T.copy(A[by * block_M, k * block_K], A_shared)
                T.copy(B[k * block_K, bx * block_N], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.reducer_init(peak, T.min_value("float32"))
            for i, j in T.Parallel(block_M, block_N):
                T.reducer_update(peak[i], C_local[i, j])
            T.finalize_reducer(peak, peak_result)
            for i, j in T.Parallel(block_M, block_N):
                C_local[i, j] = C_local[i, j] - peak_result[i]
            T.copy(C_local, C[by * block_M, bx * block_N])

    return main
