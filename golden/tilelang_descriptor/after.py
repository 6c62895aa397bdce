"""A copy beside descriptors of three spellings."""

import tilelang.language as T


@T.prim_func
def described(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=64) as bx:
        first = T.alloc_wgmma_desc(dtype="uint64")
        second = T.alloc_tcgen05_smem_desc()
        third = T.alloc_tcgen05_instr_desc(dtype="uint32")
        tile = T.alloc_shared((64,), "float32")
        T.copy(A, tile)
        T.copy(tile, B)
