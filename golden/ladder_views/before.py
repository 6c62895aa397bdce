"""The halves of float32 numbers, and one row of a tile."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def halves(x):
    """(P, F) float32 gives (P, 2 F) int16: the low and the high half of each number, and of row 0 instead of row 1."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns * 2), dtype=nl.int16, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    words = tile.view(nl.int16, (rows, columns * 2))
    row = words[0]
    nisa.dma_copy(dst=out, src=words)
    nisa.dma_copy(dst=out[1:2, 0 : 2 * columns], src=row)
    return out


@nki.jit
def planes(x):
    """(P, 8) float32 gives (P, 2, 8) int16."""
    rows, _ = x.shape
    out = nl.ndarray((rows, 2, 8), dtype=nl.int16, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, 8), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=out, src=tile.view(nl.int16, (rows, 2, 8)))
    return out
