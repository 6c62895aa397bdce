"""The planes of a volume, back to front."""

import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def reversed_planes(volume):
    planes, rows, columns = volume.shape
    out = nl.ndarray((planes, rows, columns), dtype=volume.dtype, buffer=nl.shared_hbm)
    # the first plane leaves last: all of them are in SBUF at once
    plane = nl.ndarray((rows, planes, columns), dtype=volume.dtype, buffer=nl.sbuf)
    for p in nl.affine_range(planes):
        nisa.dma_copy(dst=plane[0:rows, p, 0:columns], src=volume[p, 0:rows, 0:columns])
    for p in nl.affine_range(planes):
        nisa.dma_copy(dst=out[p], src=plane[:, planes - 1 - p, :])
    return out
