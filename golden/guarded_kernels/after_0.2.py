"""Kernels that are defined only where NKI is installed."""

import numpy as np

try:
    import nki
    import nki.language as nl
    import nki.isa as nisa

    HAS_NKI = True
except ImportError:
    nki = nl = None
    HAS_NKI = False

if HAS_NKI:
    # Rows of one tile.
    PMAX = 128

    def warmed(tile):
        add_tile = nl.ndarray(tile.shape, dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=add_tile, data=tile, op0=nl.add, operand0=0.5)
        add_exp = nl.ndarray(tile.shape, dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=add_exp, op=nl.exp, data=add_tile)
        return add_exp

    @nki.jit
    def softened(x):
        """``exp(x + 0.5)`` in tiles of 128 rows; the last one may be shorter."""
        rows, columns = x.shape
        out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
        for i in nl.affine_range((rows + PMAX - 1) // PMAX):
            ix_size = min(PMAX, rows - i * PMAX)
            tile = nl.ndarray((PMAX, columns), dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile[0:ix_size, :], src=x[nl.ds(i * PMAX, ix_size), :])
            warm = warmed(tile)
            assert warm.shape[0] == PMAX, "rewritten for a mask on all of a dimension"
            nisa.dma_copy(dst=out[nl.ds(i * PMAX, ix_size), :], src=warm[0:ix_size, :])
        return out

else:

    def softened(x):
        raise RuntimeError("NKI is not installed")


def soften(x):
    """The kernel, or NumPy where there is no NKI."""
    return softened(x) if HAS_NKI else np.exp(x + 0.5)
