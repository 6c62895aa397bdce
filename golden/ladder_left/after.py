"""What no rule may decide: each kernel has one construct that a later version refuses or reads otherwise."""

import nki
import nki.collectives as ncc
import nki.isa as nisa
import nki.language as nl


@nki.jit
def placed(x):
    """One tile has an address, the other none."""
    out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    first = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf, address=(0, 0))
    # nki-migrate NKV025: this tensor has no address, and others of the kernel have one
    second = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=first, src=x)
    nisa.tensor_scalar(dst=second, data=first, op0=nl.multiply, operand0=2.0)
    nisa.dma_copy(dst=out, src=second)
    return out


@nki.jit
def cut(x):
    """A reshape that leaves elements out, and a pattern on a part without an offset."""
    out = nl.ndarray((128, 32), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    # nki-migrate NKV034: reshape of 8192 elements to 4096
    half = tile.reshape((128, 32))
    part = tile[0:128, 32:64]
    assert False, "nki-migrate NKV038: without an offset this pattern begins at the tensor's first element up to 0.4, and at the part's since 0.5"
    nisa.tensor_tensor(dst=half, data1=half, data2=part.ap([[64, 128], [1, 32]]), op=nl.add)
    nisa.dma_copy(dst=out, src=half)
    return out


@nki.jit
def counted(x):
    """A loop on the device whose variable is written."""
    out = nl.ndarray((4, 128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
    limits = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.memset(dst=limits, value=3)
    # nki-migrate NKV044: 'i' is written in the loop that counts it
    def i_body(i):
        nisa.dma_copy(dst=tile, src=x.ap([[64, 128], [1, 64]], scalar_offset=i))
        nisa.dma_copy(dst=out.ap([[64, 128], [1, 64]], scalar_offset=i), src=tile)
        nisa.register_load(dst=i, src=limits)

    nl.fori_loop(0, 4, i_body)
    return out


@nki.jit
def summed(x, groups):
    """A product that a DMA reads from PSUM, a pattern that is asked for, and channels."""
    out = nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    acc = nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=acc, stationary=tile, moving=tile)
    acc_sbuf = nl.ndarray(acc.shape, dtype=acc.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=acc_sbuf, src=acc)
    nisa.dma_copy(dst=out, src=acc_sbuf)
    steps = tile.get_pattern()
    rank = ncc.collective_permute_implicit_current_processing_rank_id(0, groups, channel_id=0)
    return out
