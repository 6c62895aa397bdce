"""Two rings of tiles that overlap in SBUF, one dead before the other is born."""

from neuronxcc import nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.language as nl
from neuronxcc.nki.language import par_dim


@nki.jit
def two_phases(a, b):
    """(T, P, F) twice; the first half of the result is a + 1, the second is b + 2."""
    tiles, rows, columns = a.shape
    out = nl.ndarray((2, tiles, rows, columns), dtype=a.dtype, buffer=nl.shared_hbm)
    # bytes [0, 2 * columns * 4)
    first = nl.ndarray((tiles, par_dim(rows), columns), dtype=nl.float32,
                       buffer=ncc.sbuf.mod_alloc(base_addr=0, num_free_tiles=(2, )))
    # bytes [columns * 4, 3 * columns * 4)
    second = nl.ndarray((tiles, par_dim(rows), columns), dtype=nl.float32,
                        buffer=ncc.sbuf.mod_alloc(base_addr=columns * 4, num_free_tiles=(2, )))
    for t in nl.affine_range(tiles):
        first[t] = nl.load(a[t])
        first[t] = nl.add(first[t], 1.0)
        nl.store(out[0, t], value=first[t])
    for t in nl.affine_range(tiles):
        second[t] = nl.load(b[t])
        second[t] = nl.add(second[t], 2.0)
        nl.store(out[1, t], value=second[t])
    return out
