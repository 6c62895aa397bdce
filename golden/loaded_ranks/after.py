"""Tensors whose rank only a launch tells: what a subscript takes of them shows in the shape of the output."""

import nki
import nki.language as nl
import nki.isa as nisa


def tile_shape(shape):
    """The shape of the tile that a part of ``shape`` is loaded into: it has two dimensions at least."""
    if len(shape) > 1:
        return shape
    return (shape[0], 1) if len(shape) == 1 else (1, 1)


@nki.jit
def first_columns(x):
    """(P, N) with N >= 8 gives (P, 8)."""
    assert len(x.shape) == 2, "rewritten for 2 dimensions"
    tile = nl.load(x[:, 0:8])
    out = nl.ndarray(tile.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, tile)
    return out


@nki.jit
def halved(x):
    """(P, ...) gives the same: x / 2."""
    assert len(x.shape) > 1, "rewritten for 2 dimensions at least"
    x_tile = nl.load(x)
    tile = nl.ndarray(x_tile.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=tile, data=x_tile, op0=nl.multiply, operand0=0.5)
    out = nl.ndarray(tile.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, tile)
    return out


@nki.jit
def doubled_rows(x):
    """(N, ...) gives the same, N a multiple of 16: x + x."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(x.shape[0] // 16):
        tile = nl.ndarray(tile_shape(x[i * 16 : (i + 1) * 16].shape), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[i * 16 : (i + 1) * 16])
        nl.store(out[i * 16 : (i + 1) * 16], nl.add(tile, tile))
    return out


@nki.jit
def shifted(x, bias):
    """(P, N) gives the same, each row moved by its number: x + bias.

    bias: (P,)
    """
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    assert len(bias.shape) == 1, "rewritten for 1 dimension"
    assert x.dtype == bias.dtype, "rewritten for operands of one type"
    for i in nl.affine_range(bias.shape[0] // 16):
        tile = nl.load(x[i * 16 : (i + 1) * 16, :])
        bias_tile = nl.ndarray((16, 1), dtype=bias.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=bias_tile, src=bias[i * 16 : (i + 1) * 16])
        add_tile = nl.ndarray((16, x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=add_tile, data=tile, op0=nl.add, operand0=bias_tile)
        nl.store(out[i * 16 : (i + 1) * 16, :], add_tile)
    return out
