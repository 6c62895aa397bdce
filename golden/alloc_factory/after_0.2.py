"""Allocation functions from a factory: a closure carries the base address."""

import nki
import nki.language as nl
import nki.isa as nisa


def row_of_tiles(first_byte, idx, pdim_size, fdim_size):
    slot, = idx
    return (0, first_byte + slot * fdim_size)


@nki.jit
def products(a, b):
    """Two (B, P, F) tensors, multiplied element by element."""
    blocks, rows, columns = a.shape
    out = nl.ndarray((blocks, rows, columns), dtype=a.dtype, buffer=nl.shared_hbm)

    next_byte = 0
    left = []
    for i in range(blocks):
        partition, byte = row_of_tiles(
            first_byte=next_byte, idx=(i,), pdim_size=rows, fdim_size=columns * 4
        )
        left.append(
            nl.ndarray(
                (rows, columns),
                dtype=nl.float32,
                buffer=nl.sbuf,
                address=(partition, byte),
            )
        )
    next_byte += blocks * columns * 4
    right = []
    for i in range(blocks):
        partition, byte = row_of_tiles(
            first_byte=next_byte, idx=(i,), pdim_size=rows, fdim_size=columns * 4
        )
        right.append(
            nl.ndarray(
                (rows, columns),
                dtype=nl.float32,
                buffer=nl.sbuf,
                address=(partition, byte),
            )
        )

    for i in nl.affine_range(blocks):
        nisa.dma_copy(dst=left[i], src=a[i])
        nisa.dma_copy(dst=right[i], src=b[i])
    for i in nl.affine_range(blocks):
        nisa.tensor_tensor(dst=left[i], data1=left[i], data2=right[i], op=nl.multiply)
        nisa.dma_copy(dst=out[i], src=left[i])
    return out
