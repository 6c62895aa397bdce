"""Scaled heads: one program of a two-dimensional grid for each batch and head."""

import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def scaled_heads(x, bias, scale=None, grid=None):
    """(B, H, S, D) times a scale, plus a bias (H, 128, 1) for its tiles of 128 tokens."""
    assert len(grid) == 2
    batches, heads, tokens, width = x.shape
    assert tokens % 128 == 0, f"{tokens} tokens"
    out = nl.ndarray((batches, heads, tokens, width), dtype=x.dtype, buffer=nl.shared_hbm)
    scale_given = scale
    # which head this is
    # of all heads
    for batch in nl.affine_range(nl.program_id(0), grid[0], nl.num_programs(0)):
        for head in nl.affine_range(grid[1]):
            scale = scale_given
            address = 0
            scale = scale or 1.0 / (head + 1)

            column = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf, address=(0, address))
            address += 4
            # one column for all tokens
            nisa.dma_copy(dst=column, src=bias[head, :, :])
            tile = nl.ndarray((128, width), dtype=nl.float32, buffer=nl.sbuf, address=(0, address))
            address += width * 4
            for i in nl.affine_range(tokens // 128):
                nisa.dma_copy(dst=tile, src=x[batch, head, i * 128 : (i + 1) * 128, :])
                nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=scale)
                nisa.tensor_scalar(dst=tile, data=tile, op0=nl.add, operand0=column)
                nl.store(out[batch, head, i * 128 : (i + 1) * 128, :], value=tile)

    # all heads are done
    return out


def all_heads(x, bias):
    """On the cores that the compiler chooses."""
    return scaled_heads(x, bias, grid=(x.shape[0], x.shape[1]))


def on_two_cores(x, bias, scale):
    """Every other batch on the second core."""
    grid = ((x.shape[0] // 2) * 2, x.shape[1])
    return scaled_heads[2](x, bias, scale, grid=grid)
