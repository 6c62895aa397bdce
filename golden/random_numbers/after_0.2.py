"""Dropout of a tile, with a seed that each block of columns has for itself."""

import nki
import nki.language as nl
import nki.isa as nisa

BLOCK = 64


@nki.jit
def dropped(x, seed, rate):
    """(P, F) gives (P, F): elements become 0 with probability ``rate``, the others are scaled."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    assert len(seed.shape) == 2, "rewritten for 2 dimensions"
    seed_tile = nl.ndarray((1, 1), dtype=seed.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=seed_tile, src=seed[0:1, 0:1])
    rate_tile = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=rate_tile, value=rate)
    tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    assert seed.dtype in (
        nl.float32,
        nl.bfloat16,
        nl.float16,
        nl.int32,
    ), "rewritten for a type that integers do not change"
    assert seed.dtype == nl.int32 or seed.dtype == nl.uint32, "rewritten for a seed of 32 bits"
    for block in nl.sequential_range(columns // BLOCK):
        add_tile = nl.ndarray((1, 1), dtype=seed.dtype, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=add_tile, data=seed_tile, op0=nl.add, operand0=block)
        nisa.set_rng_seed(src_seeds=add_tile)
        part = nl.ndarray((rows, BLOCK), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dropout(dst=part, data=tile[0:rows, nl.ds(block * BLOCK, BLOCK)], prob=rate_tile)
        scaled = nl.ndarray((rows, BLOCK), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=scaled, data=part, op0=nl.multiply, operand0=1 / (1 - rate))
        nisa.dma_copy(dst=out[0:rows, nl.ds(block * BLOCK, BLOCK)], src=scaled)
    return out


@nki.jit
def half(x):
    """(P, F) gives (P, F): every element stays with probability 1/2."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    filled_tile = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.memset(dst=filled_tile, value=17)
    nisa.set_rng_seed(src_seeds=filled_tile)
    assert len(x.shape) > 1, "rewritten for 2 dimensions at least"
    x_tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=x_tile, src=x)
    dropout_tile = nl.ndarray(x_tile.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dropout(dst=dropout_tile, data=x_tile, prob=0.5)
    nisa.dma_copy(dst=out, src=dropout_tile)
    return out
