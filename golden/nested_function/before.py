"""A function inside of the kernel that uses the kernel's variables."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def scaled_rows(x, factor):
    """(T, P, F) times ``factor`` plus the number of the tile."""
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    shift = nl.ndarray((nl.par_dim(rows), 1), dtype=nl.float32, buffer=nl.sbuf)

    def finish(t, tile):
        # reads x's extents, out and shift of the kernel
        result = nl.ndarray((nl.par_dim(rows), columns), dtype=x.dtype, buffer=nl.sbuf)
        result[...] = nisa.tensor_scalar(tile, op0=nl.multiply, operand0=factor, op1=nl.add, operand1=shift)
        nl.store(out[t], value=result)

    shift[...] = nisa.memset((rows, 1), value=0.0, dtype=nl.float32)
    finish(0, nl.load(x[0]))
    for t in nl.static_range(1, tiles):
        shift[...] = nisa.memset((rows, 1), value=float(t), dtype=nl.float32)
        tile = nl.load(x[t])
        finish(t, tile)
    return out
