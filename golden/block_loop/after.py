"""A volume copied plane by plane."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def copied_planes(volume):
    planes, rows, columns = volume.shape
    out = nl.ndarray((planes, rows, columns), dtype=volume.dtype, buffer=nl.shared_hbm)
    for p in nl.affine_range(planes):
        plane = nl.ndarray((rows, columns), dtype=volume.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=plane, src=volume[p])
        nisa.dma_copy(dst=out[p], src=plane)
    return out
