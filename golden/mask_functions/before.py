"""Masks and places that functions in the kernel make of its index vectors."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def grown(x):
    """(R, C): twice the exponential of x, in tiles of 128 x 64 that reach over the edges."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p, i_f = nl.mgrid[0:128, 0:64]

    def valid(r, c):
        """What of a tile lies in x."""
        left = columns - c * 64
        return (i_p < rows - r * 128) & (i_f < left)

    def place(vector, t, size):
        return t * size + vector  # of one dimension

    for r in nl.affine_range((rows + 127) // 128):
        for c in nl.affine_range((columns + 63) // 64):
            tile = nl.load(x[place(i_p, r, 128), place(i_f, c, 64)], mask=valid(r, c))
            grown_tile = nl.exp(tile, mask=valid(r, c))
            nl.store(
                out[place(i_p, r, 128), place(i_f, c, 64)], value=nl.add(grown_tile, grown_tile), mask=valid(r=r, c=c)
            )
    return out
