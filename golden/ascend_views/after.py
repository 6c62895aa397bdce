"""A tile that is seen as one row, and changed there."""

import tilelang
import tilelang.language as T


@T.prim_func
def flatten(A: T.Tensor((8, 16), "float32"), B: T.Tensor((8, 16), "float32")):
    tile = T.alloc_ub((8, 16), "float32")
    T.copy(A, tile)
    flat = T.view(tile, (128,))
    for i in T.serial(8):
        flat[i * 16] = flat[i * 16] + 1.0
    T.copy(tile, B)
