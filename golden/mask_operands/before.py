"""Masks of the operands of a matmul, and masks of matmuls and transposes whose operands have the same sizes."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np

TILE = 128


@nki.jit
def two_projections(x, up, down):
    """(F, T), (F, inner), (inner, 2, 64) give (T, 2, 64): ``(x.T @ up) @ down``; tiles of 128 do not fill ``inner``."""
    features, tokens = x.shape
    _, inner = up.shape
    tiles = int(np.ceil(inner / TILE))
    out = nl.ndarray((tokens, 2, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    x_tile = nl.load(x)
    hidden = nl.ndarray((tiles, nl.par_dim(TILE), tokens), dtype=x.dtype, buffer=nl.sbuf)
    for t in nl.affine_range(tiles):
        i_p, i_f = nl.mgrid[0:features, 0:TILE]
        up_tile = nl.load(up[i_p, t * TILE + i_f], mask=(t * TILE + i_f < inner))
        product = nl.zeros((nl.par_dim(TILE), tokens), dtype=nl.float32, buffer=nl.psum)
        i_t = nl.arange(tokens)[None, :]
        product[nl.arange(TILE)[:, None], i_t] += nisa.nc_matmul(
            up_tile[i_p, i_f][-1 * i_f + -TILE * t + inner - 1 >= 0], x_tile[nl.arange(features)[:, None], i_t]
        )
        i_row = nl.arange(TILE)[:, None]
        hidden[t, i_row, i_t] = nl.copy(product[i_row, i_t], mask=(t * TILE + i_row < inner))
    result = nl.zeros((nl.par_dim(tokens), 2, 64), dtype=nl.float32, buffer=nl.psum)
    for t in nl.affine_range(tiles):
        i_p, i_two, i_f = nl.mgrid[0:TILE, 0:2, 0:64]
        down_tile = nl.load(down[t * TILE + i_p, i_two, i_f], mask=(t * TILE + i_p < inner))
        i_row, i_t = nl.arange(TILE)[:, None], nl.arange(tokens)[None, :]
        result[...] += nisa.nc_matmul(
            hidden[t, i_row, i_t][t * TILE + i_row < inner], down_tile[i_p, i_two, i_f][t * TILE + i_p < inner]
        )
    nl.store(out, nl.copy(result, dtype=x.dtype))
    return out


@nki.jit
def transposed(x, count):
    """(128, F) gives (128, F): each square of 128 columns transposed, of its first ``count`` rows."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    result = nl.zeros((nl.par_dim(TILE), columns), dtype=x.dtype, buffer=nl.sbuf)
    for t in nl.affine_range(columns // TILE):
        i_p, i_f = nl.mgrid[0:TILE, 0:128]
        result[i_p, t * TILE + i_f] = nisa.nc_transpose(tile[i_p, t * TILE + i_f], mask=(i_p < count))
    nl.store(out, value=result)
    return out
