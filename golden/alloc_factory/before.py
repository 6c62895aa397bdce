"""Allocation functions from a factory: a closure carries the base address."""

import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.language as nl
from neuronxcc.nki.language import par_dim


def row_of_tiles(first_byte):
    def place(idx, pdim_size, fdim_size):
        slot, = idx
        return (0, first_byte + slot * fdim_size)

    return place


@nki.jit
def products(a, b):
    """Two (B, P, F) tensors, multiplied element by element."""
    blocks, rows, columns = a.shape
    out = nl.ndarray((blocks, rows, columns), dtype=a.dtype, buffer=nl.shared_hbm)

    next_byte = 0
    left = nl.ndarray((blocks, par_dim(rows), columns), dtype=nl.float32,
                      buffer=ncc.sbuf.alloc(row_of_tiles(next_byte)))
    next_byte += blocks * columns * 4
    right = nl.ndarray((blocks, par_dim(rows), columns), dtype=nl.float32,
                       buffer=ncc.sbuf.alloc(row_of_tiles(next_byte)))

    for i in nl.affine_range(blocks):
        left[i] = nl.load(a[i])
        right[i] = nl.load(b[i])
    for i in nl.affine_range(blocks):
        left[i] = nl.multiply(left[i], right[i])
        nl.store(out[i], value=left[i])
    return out
