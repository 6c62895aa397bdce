"""A tile that is seen as one row, and changed there."""

import tilelang
import tilelang.language as T


@T.prim_func
def flatten(A: T.Tensor((8, 16), "float32"), B: T.Tensor((8, 16), "float32")):
    tile = T.alloc_buffer("auto", "float32", scope="shared")
    with T.memory_trace(enabled=True):
        T.copy(A, tile)
    flat = T.buffer_alias(tile, shape=(128,))
    for i in T.serial(8):
        T.evaluate(flat[i * 16].assign(flat[i * 16] + 1.0))
    T.memory_stats()
    T.copy(tile, B)
