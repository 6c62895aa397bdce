"""The sum and the maximum of each row, by reducers of two operations."""

import tilelang.language as T


@T.prim_func
def row_sums(A: T.Tensor((128, 64), "float32"), B: T.Tensor((128,), "float32"), C: T.Tensor((128,), "float32")):
    with T.Kernel(1, threads=128) as bx:
        tile = T.alloc_shared((128, 64), "float32")
        acc = T.alloc_reducer((128,), "float32", op="sum", replication="all")
        top = T.alloc_reducer((128,), "float32", op="max", replication="all")  # of the same rows
        T.copy(A, tile)
        T.clear(acc)
        T.fill(top, T.min_value("float32"))
        for i, j in T.Parallel(128, 64):
            acc[i] += tile[i, j] * 2.0
            top[i] = T.max(top[i], tile[i, j])
        T.finalize_reducer(acc)
        T.finalize_reducer(top)
        T.copy(acc, B)
        T.copy(top, C)
