"""The largest of each square of an image, with sizes that are divided with /: Beta 1 takes floats for them."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def pooled(x, size=2, height_tile=4):
    """(P, H, W): the largest of each square of size x size, in tiles of some rows."""
    channels, height, width = x.shape
    columns = width // size
    out = nl.ndarray((channels, height // size, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for t in nl.affine_range(height // height_tile):
        tile = nl.ndarray((channels, height_tile, width), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[:, nl.ds(t * height_tile, height_tile), :])
        squares = tile.reshape((channels, height_tile // size, size, width // size, size))
        found = nl.ndarray((channels, height_tile // size, width // size), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_reduce(
            dst=found,
            op=nl.maximum,
            data=squares.ap(
                pattern=[
                    [(height_tile // size) * size * (width // size) * size, channels],
                    [size * (width // size) * size, height_tile // size],
                    [size, width // size],
                    [(width // size) * size, size],
                    [1, size],
                ]
            ),
            axis=[3, 4],
        )
        begin = t * (height_tile // size)
        nisa.dma_copy(dst=out[:, nl.ds(begin, height_tile // size), :], src=found)
    return out
