"""Differences of neighbouring bands of a picture."""

import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def band_differences(picture):
    """(B, H, W) gives (B - 1, H, W): each band minus the one before it."""
    bands, rows, width = picture.shape
    out = nl.ndarray((bands - 1, rows, width), dtype=picture.dtype, buffer=nl.shared_hbm)

    # a band stays in SBUF until its neighbour has been read
    band = []
    for b in range(bands):
        band.append(nl.ndarray((rows, width), dtype=picture.dtype, buffer=nl.sbuf))
    for b in nl.affine_range(bands):
        nisa.dma_copy(dst=band[b], src=picture[b])

    for b in nl.affine_range(bands - 1):
        step = nl.ndarray((rows, width), dtype=picture.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=step, data1=band[b + 1], data2=band[b], op=nl.subtract)
        nisa.dma_copy(dst=out[b], src=step)
    return out
