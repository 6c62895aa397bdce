"""The planes of a volume, back to front."""

from neuronxcc import nki
import neuronxcc.nki.language as nl
from neuronxcc.nki.language import par_dim


@nki.jit
def reversed_planes(volume):
    planes, rows, columns = volume.shape
    out = nl.ndarray((planes, rows, columns), dtype=volume.dtype, buffer=nl.shared_hbm)
    # the first plane leaves last: all of them are in SBUF at once
    plane = nl.ndarray((planes, par_dim(rows), columns), dtype=volume.dtype, buffer=nl.sbuf)
    for p in nl.affine_range(planes):
        plane[p, 0:rows, 0:columns] = nl.load(volume[p, 0:rows, 0:columns])
    for p in nl.affine_range(planes):
        nl.store(out[p], value=plane[planes - 1 - p])
    return out
