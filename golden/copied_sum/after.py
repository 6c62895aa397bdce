"""A sum of three terms in one statement, which is copied to a tile of its own."""

import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def raised(x):
    """(128, F) float32: x + 3 and x + 5."""
    out = nl.ndarray((2, 128, x.shape[1]), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x)
    add_tile = nl.ndarray(tile.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(
        dst=add_tile, data=tile, op0=nl.add, operand0=1.0, op1=nl.add, operand1=1.0
    )
    more = nl.ndarray(add_tile.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=more, data=add_tile, op0=nl.add, operand0=1.0)
    add_tile_2 = nl.ndarray(tile.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(
        dst=add_tile_2, data=tile, op0=nl.add, operand0=2.0, op1=nl.add, operand1=3.0
    )
    kept = nl.ndarray(add_tile_2.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=kept, src=add_tile_2)
    nl.store(out[0], more)
    nl.store(out[1], kept)
    return out
