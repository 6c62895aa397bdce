"""A volume copied plane by plane."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def copied_planes(volume):
    planes, rows, columns = volume.shape
    out = nl.ndarray((planes, rows, columns), dtype=volume.dtype, buffer=nl.shared_hbm)
    plane = []
    for block in range(planes):
        plane.append(nl.ndarray((rows, columns), dtype=volume.dtype, buffer=nl.sbuf))
    for p in nl.affine_range(planes):
        nisa.dma_copy(dst=plane[p], src=volume[p])
        nisa.dma_copy(dst=out[p], src=plane[p])
    return out
