"""Two rings of tiles that overlap in SBUF, one dead before the other is born."""

import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def two_phases(a, b):
    """(T, P, F) twice; the first half of the result is a + 1, the second is b + 2."""
    tiles, rows, columns = a.shape
    out = nl.ndarray((2, tiles, rows, columns), dtype=a.dtype, buffer=nl.shared_hbm)
    # bytes [columns * 4, 3 * columns * 4)
    for t in nl.affine_range(tiles):
        # bytes [0, 2 * columns * 4)
        first = nl.ndarray(
            (rows, columns),
            dtype=nl.float32,
            buffer=nl.sbuf,
            address=(0, (t % 2) * (columns * 4)),
        )
        nisa.dma_copy(dst=first, src=a[t])
        nisa.tensor_scalar(dst=first, data=first, op0=nl.add, operand0=1.0)
        nl.store(out[0, t], value=first)
    for t in nl.affine_range(tiles):
        second = nl.ndarray(
            (rows, columns),
            dtype=nl.float32,
            buffer=nl.sbuf,
            address=(0, columns * 4 + (t % 2) * (columns * 4)),
        )
        nisa.dma_copy(dst=second, src=b[t])
        nisa.tensor_scalar(dst=second, data=second, op0=nl.add, operand0=2.0)
        nl.store(out[1, t], value=second)
    return out
