"""A function inside of the kernel that uses the kernel's variables."""

import nki
import nki.isa as nisa
import nki.language as nl


def finish(t, tile, rows, columns, x, factor, shift, out):
    # reads x's extents, out and shift of the kernel
    result = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=result, data=tile, op0=nl.multiply, operand0=factor, op1=nl.add, operand1=shift)
    nl.store(out[t], value=result)


@nki.jit
def scaled_rows(x, factor):
    """(T, P, F) times ``factor`` plus the number of the tile."""
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    shift = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)

    nisa.memset(dst=shift, value=0.0)
    x_tile = nl.load(x[0])
    finish(0, x_tile, rows=rows, columns=columns, x=x, factor=factor, shift=shift, out=out)
    for t in nl.static_range(1, tiles):
        nisa.memset(dst=shift, value=float(t))
        tile = nl.load(x[t])
        finish(t, tile, rows=rows, columns=columns, x=x, factor=factor, shift=shift, out=out)
    return out
