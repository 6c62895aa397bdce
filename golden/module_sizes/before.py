"""Sizes that the module names, some in one assignment and some by arithmetic: loops that stay inside need no guards."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

ROWS, COLUMNS, TILE = 300, 96, 128
TILES = (ROWS + TILE - 1) // TILE
PADDED = TILES + 1


@nki.jit
def shifted(x):
    """(ROWS, COLUMNS): x plus one, in tiles of TILE rows."""
    out = nl.ndarray((ROWS, COLUMNS), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p, i_f = nl.mgrid[0:TILE, 0:COLUMNS]
    for t in nl.affine_range(3):
        rows = nl.load(x[t * TILE + i_p, i_f], mask=t * TILE + i_p < ROWS)
        nl.store(out[t * TILE + i_p, i_f], value=nl.add(rows, 1.0), mask=t * TILE + i_p < ROWS)
    return out


@nki.jit
def copied(x):
    """(ROWS, COLUMNS): x; the last pass has no row left."""
    out = nl.ndarray((ROWS, COLUMNS), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p, i_f = nl.mgrid[0:TILE, 0:COLUMNS]
    for t in nl.affine_range(PADDED):
        rows = nl.load(x[t * TILE + i_p, i_f], mask=t * TILE + i_p < ROWS)
        nl.store(out[t * TILE + i_p, i_f], value=rows, mask=t * TILE + i_p < ROWS)
    return out
