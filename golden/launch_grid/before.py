"""Scaled heads: one program of a two-dimensional grid for each batch and head."""

import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.language as nl


@nki.jit
def scaled_heads(x, bias, scale=None):
    """(B, H, S, D) times a scale, plus a bias (H, 128, 1) for its tiles of 128 tokens."""
    batches, heads, tokens, width = x.shape
    assert tokens % 128 == 0, f"{tokens} tokens"

    # which head this is
    batch = nl.program_id(0)
    head = nl.program_id(axis=1)  # of all heads
    address = 0
    out = nl.ndarray((batches, heads, tokens, width), dtype=x.dtype, buffer=nl.shared_hbm)
    scale = scale or 1.0 / (head + 1)

    column = nl.ndarray((nl.par_dim(128), 1), dtype=nl.float32, buffer=ncc.sbuf.mod_alloc(base_addr=address))
    address += 4
    # one column for all tokens
    column[:, :] = nl.load(bias[head, :, :])
    tile = nl.ndarray((nl.par_dim(128), width), dtype=nl.float32, buffer=ncc.sbuf.mod_alloc(base_addr=address))
    address += width * 4
    for i in nl.affine_range(tokens // 128):
        tile[:, :] = nl.load(x[batch, head, i * 128 : (i + 1) * 128, :])
        tile[:, :] = nl.multiply(tile, scale)
        tile[:, :] = nl.add(tile, column)
        nl.store(out[batch, head, i * 128 : (i + 1) * 128, :], value=tile)

    # all heads are done
    return out


def all_heads(x, bias):
    """On the cores that the compiler chooses."""
    return scaled_heads[x.shape[0], x.shape[1]](x, bias)


def on_two_cores(x, bias, scale):
    """Every other batch on the second core."""
    grid = (nl.spmd_dim(x.shape[0] // 2, nl.nc(2)), x.shape[1])
    return scaled_heads[grid](x, bias, scale)
