"""The sum and the maximum of each row, by reducers of two operations."""

import tilelang.language as T


@T.prim_func
def row_sums(A: T.Tensor((128, 64), "float32"), B: T.Tensor((128,), "float32"), C: T.Tensor((128,), "float32")):
    with T.Kernel(1, threads=128) as bx:
        tile = T.alloc_shared((128, 64), "float32")
        acc = T.alloc_reducer((128,), "float32", op="sum")
        acc_result = T.alloc_fragment((128,), "float32")
        top = T.alloc_reducer((128,), "float32", op="max")  # of the same rows
        top_result = T.alloc_fragment((128,), "float32")
        T.copy(A, tile)
        T.reducer_init(acc)
        T.reducer_init(top, T.min_value("float32"))
        for i, j in T.Parallel(128, 64):
            T.reducer_update(acc[i], tile[i, j] * 2.0)
            T.reducer_update(top[i], tile[i, j])
        T.finalize_reducer(acc, acc_result)
        T.finalize_reducer(top, top_result)
        T.copy(acc_result, B)
        T.copy(top_result, C)
