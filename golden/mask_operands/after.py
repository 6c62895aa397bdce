"""Masks of the operands of a matmul, and masks of matmuls and transposes whose operands have the same sizes."""

import nki
import nki.isa as nisa
import nki.language as nl
import math

TILE = 128


@nki.jit
def two_projections(x, up, down):
    """(F, T), (F, inner), (inner, 2, 64) give (T, 2, 64): ``(x.T @ up) @ down``; tiles of 128 do not fill ``inner``."""
    features, tokens = x.shape
    _, inner = up.shape
    tiles = int(math.ceil(inner / TILE))
    out = nl.ndarray((tokens, 2, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    x_tile = nl.load(x)
    hidden = []
    for t in range(tiles):
        hidden.append(nl.ndarray((TILE, tokens), dtype=x.dtype, buffer=nl.sbuf))
    for t in nl.affine_range(tiles):
        i_f_size = min(TILE, inner - t * TILE)
        up_tile = nl.ndarray((features, TILE), dtype=up.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=up_tile[:, 0:i_f_size], src=up[0:features, nl.ds(t * TILE, i_f_size)])
        product = nl.zeros((TILE, tokens), dtype=nl.float32, buffer=nl.psum)
        nisa.nc_matmul(dst=product[0:i_f_size, :], stationary=up_tile[:, 0:i_f_size], moving=x_tile)
        nisa.tensor_copy(dst=hidden[t][0:i_f_size, :], src=product[0:i_f_size, :])
    result = nl.ndarray((tokens, 2, 64), dtype=nl.float32, buffer=nl.psum)
    assert tiles > 0, "rewritten for loops that run"
    for t in nl.affine_range(tiles):
        i_p_size = min(TILE, inner - t * TILE)
        down_tile = nl.ndarray((TILE, 2, 64), dtype=down.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=down_tile[0:i_p_size, :, :], src=down[nl.ds(t * TILE, i_p_size), 0:2, 0:64])
        nisa.nc_matmul(dst=result, stationary=hidden[t][0:i_p_size, :], moving=down_tile[0:i_p_size, :, :])
    result_sbuf = nl.ndarray((tokens, 2, 64), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=result_sbuf, src=result)
    nl.store(out, result_sbuf)
    return out


@nki.jit
def transposed(x, count):
    """(128, F) gives (128, F): each square of 128 columns transposed, of its first ``count`` rows."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    result = nl.zeros((TILE, columns), dtype=x.dtype, buffer=nl.sbuf)
    i_p_size = min(TILE, count)
    for t in nl.affine_range(columns // TILE):
        tile_transposed = nl.ndarray((128, TILE), dtype=x.dtype, buffer=nl.psum)
        if i_p_size > 0:
            nisa.nc_transpose(dst=tile_transposed[:, 0:i_p_size], data=tile[0:i_p_size, nl.ds(t * TILE, 128)])
            nisa.tensor_copy(dst=result[:, nl.ds(t * TILE, i_p_size)], src=tile_transposed[:, 0:i_p_size])
    nl.store(out, value=result)
    return out
