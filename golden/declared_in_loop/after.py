"""Allocated tiles declared in loops of depth one and two, and the same tile hoisted for double buffering."""

import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def serial_and_buffered(x):
    """(T, 2, P, F) times six."""
    tiles, halves, rows, columns = x.shape
    size = columns * 4
    out = nl.ndarray((tiles, halves, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for t in nl.affine_range(tiles):
        # two tiles that take turns: the halves overlap in time
        for h in nl.affine_range(2):
            tile = nl.ndarray(
                (rows, columns), dtype=nl.float32, buffer=nl.sbuf, address=(0, 128 + h * (columns * 4))
            )
            nisa.dma_copy(dst=tile, src=x[t, h])
            # one tile for all passes: this part runs one pass after the other
            work = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf, address=(0, 128 + 2 * size))
            nisa.tensor_scalar(dst=work, data=tile, op0=nl.multiply, operand0=3.0)
            nisa.tensor_tensor(dst=tile, data1=work, data2=work, op=nl.add)
            nl.store(out[t, h], value=tile)
    return out
