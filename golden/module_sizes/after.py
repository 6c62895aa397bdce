"""Sizes that the module names, some in one assignment and some by arithmetic: loops that stay inside need no guards."""

import nki
import nki.language as nl
import nki.isa as nisa

ROWS, COLUMNS, TILE = 300, 96, 128
TILES = (ROWS + TILE - 1) // TILE
PADDED = TILES + 1


@nki.jit
def shifted(x):
    """(ROWS, COLUMNS): x plus one, in tiles of TILE rows."""
    out = nl.ndarray((ROWS, COLUMNS), dtype=x.dtype, buffer=nl.shared_hbm)
    for t in nl.affine_range(3):
        i_p_size = min(TILE, ROWS - t * TILE)
        rows = nl.ndarray((TILE, COLUMNS), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=rows[0:i_p_size, :], src=x[nl.ds(t * TILE, i_p_size), 0:COLUMNS])
        add_tile = nl.ndarray((TILE, COLUMNS), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=add_tile, data=rows, op0=nl.add, operand0=1.0)
        nl.store(out[nl.ds(t * TILE, i_p_size), :], value=add_tile[0:i_p_size, :])
    return out


@nki.jit
def copied(x):
    """(ROWS, COLUMNS): x; the last pass has no row left."""
    out = nl.ndarray((ROWS, COLUMNS), dtype=x.dtype, buffer=nl.shared_hbm)
    for t in nl.affine_range(PADDED):
        i_p_size = min(TILE, ROWS - t * TILE)
        rows = nl.ndarray((TILE, COLUMNS), dtype=x.dtype, buffer=nl.sbuf)
        if i_p_size > 0:
            nisa.dma_copy(dst=rows[0:i_p_size, :], src=x[nl.ds(t * TILE, i_p_size), 0:COLUMNS])
            nl.store(out[nl.ds(t * TILE, i_p_size), :], value=rows[0:i_p_size, :])
    return out
