"""Kernels that functions of the host make for one size: they close over sizes, index vectors and arrays."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
import numpy as np


def make_halves(rows, columns, factor=2.0):
    """A kernel that scales tiles of (rows, columns), one half after the other."""
    half = columns // 2
    if half % 2:
        raise ValueError("halves of an odd number of columns")
    # rows and columns of one half
    i_p = nl.arange(rows)[:, None]
    i_f = nl.arange(half)[None, :]  # without where it begins

    # the kernel itself
    @nki.jit
    def halves(x):
        """(rows, columns) times a factor,
        one half after the other.
        """
        out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
        for j in nl.affine_range(2):
            tile = nl.load(x[i_p, j * half + i_f])
            scaled = nl.multiply(tile, factor)
            nl.store(out[i_p, j * half + i_f], value=scaled)
        return out

    return halves


def make_causal(rows, width):
    """A kernel that keeps the lower triangle of squares, one for each program; what launches it; and its width."""
    ones = np.ones((rows, rows), dtype=np.float32)
    lower = np.tril(ones)

    def scaled(tile):
        return nl.multiply(tile, 1.0 / width)

    @nki.jit
    def _kernel(x):
        mask = nl.load(nl.shared_constant(lower, dtype=nl.float32))
        batch = nl.program_id(0)
        out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
        tile = nl.load(x[batch, 0:rows, 0:rows])
        kept = nl.multiply(tile, mask)
        nl.store(out[batch, 0:rows, 0:rows], value=scaled(kept))
        return out

    def kernel(x):
        """On as many programs as there are squares."""
        return _kernel[x.shape[0]](x)

    return kernel, width


def copied(x, rows):
    """The first rows of a tensor, by a kernel that is launched where it is made."""
    width = x.shape[1]

    @nki.jit
    def copying(x):
        out = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, value=nl.load(x[0:rows, 0:width]))
        return out

    return copying(x)
