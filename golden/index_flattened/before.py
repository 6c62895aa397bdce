"""Two index vectors that walk one dimension without a gap."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def groups_copied(x):
    """(P, 6 * 16), read as six groups of 16."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    i_p, i_g, i_e = nl.mgrid[0:rows, 0:6, 0:16]
    nl.store(out[i_p, i_g * 16 + i_e], value=tile[i_p, i_g * 16 + i_e])
    return out
