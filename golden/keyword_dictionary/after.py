"""Two matrices times a factor plus a shift: the options travel in dictionaries."""

import nki
import nki.language as nl
import nki.isa as nisa


def tile_shape(shape):
    """The shape of the tile that a part of ``shape`` is loaded into: it has two dimensions at least."""
    if len(shape) > 1:
        return shape
    return (shape[0], 1) if len(shape) == 1 else (1, 1)


def scaled(src, dst, factor, shift=1.0):
    """dst = src * factor + shift, (P, F) each."""
    if shift is None:
        shift = 0.0
    src_tile = nl.ndarray(tile_shape(src.shape), dtype=src.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=src_tile, src=src)
    product = nl.ndarray(src_tile.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=product, data=src_tile, op0=nl.multiply, operand0=factor)
    nl.store(dst, value=nl.add(product, shift, dtype=nl.float32))


def both(src, dst, factor, steps=None, shift=1.0):
    """The matrices one by one: for the second, the shift is another."""
    scaled(src[0], dst[0], factor=factor, shift=shift)
    if steps:
        shift = 5.0
    scaled(src[1], dst[1], factor=factor, shift=shift)


@nki.jit
def shifted(x, factor=0.5, steps=True):
    """x (2, P, F) gives (2, P, F)."""
    out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    both(x, out, factor=factor, steps=steps)
    return out
