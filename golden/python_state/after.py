"""Python state that a loop advances: Beta 1 traced a loop body once."""

import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def counted(x):
    """(T, P, F): each tile times 1, then the last one times 2, however many tiles there are."""
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles + 1, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    passes = 0
    passes_before_loop = passes
    for t in nl.affine_range(tiles):
        passes = passes_before_loop
        passes += 1
        tile = nl.load(x[t])
        scaled = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=scaled, data=tile, op0=nl.multiply, operand0=float(passes))
        nl.store(out[t], value=scaled)
    # one pass was counted: a loop of Beta 2 would have counted all of them
    passes = passes + 1
    last = nl.load(x[tiles - 1])
    doubled = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=doubled, data=last, op0=nl.multiply, operand0=float(passes))
    nl.store(out[tiles], value=doubled)
    return out
