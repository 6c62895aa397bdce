"""Differences of neighbouring bands of a picture."""

from neuronxcc import nki
import neuronxcc.nki.language as nl


@nki.jit
def band_differences(picture):
    """(B, H, W) gives (B - 1, H, W): each band minus the one before it."""
    bands, rows, width = picture.shape
    out = nl.ndarray((bands - 1, rows, width), dtype=picture.dtype, buffer=nl.shared_hbm)

    # a band stays in SBUF until its neighbour has been read
    band = nl.ndarray((bands, nl.par_dim(rows), width), dtype=picture.dtype, buffer=nl.sbuf)
    for b in nl.affine_range(bands):
        band[b] = nl.load(picture[b])

    for b in nl.affine_range(bands - 1):
        step = nl.subtract(band[b + 1], band[b])
        nl.store(out[b], value=step)
    return out
