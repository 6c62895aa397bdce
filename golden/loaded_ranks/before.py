"""Tensors whose rank only a launch tells: what a subscript takes of them shows in the shape of the output."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def first_columns(x):
    """(P, N) with N >= 8 gives (P, 8)."""
    tile = nl.load(x[:, 0:8])
    out = nl.ndarray(tile.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, tile)
    return out


@nki.jit
def halved(x):
    """(P, ...) gives the same: x / 2."""
    tile = nl.multiply(nl.load(x), 0.5)
    out = nl.ndarray(tile.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, tile)
    return out


@nki.jit
def doubled_rows(x):
    """(N, ...) gives the same, N a multiple of 16: x + x."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(x.shape[0] // 16):
        tile = nl.load(x[i * 16 : (i + 1) * 16])
        nl.store(out[i * 16 : (i + 1) * 16], nl.add(tile, tile))
    return out


@nki.jit
def shifted(x, bias):
    """(P, N) gives the same, each row moved by its number: x + bias.

    bias: (P,)
    """
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(bias.shape[0] // 16):
        tile = nl.load(x[i * 16 : (i + 1) * 16, :])
        nl.store(out[i * 16 : (i + 1) * 16, :], nl.add(tile, nl.load(bias[i * 16 : (i + 1) * 16])))
    return out
