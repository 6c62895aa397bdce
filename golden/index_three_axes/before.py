"""Subscripts with three index vectors, and with an integer among them."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def second_plane_first(x):
    """(P, 3, F) gives (P, 2, F): planes 1 and 2, then plane 1 is replaced by plane 0 plus itself."""
    rows, planes, columns = x.shape
    out = nl.ndarray((rows, 2, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p, i_b, i_f = nl.mgrid[0:rows, 0:2, 0:columns]
    tile = nl.load(x[i_p, 1 + i_b, i_f])
    k_p = nl.arange(rows)[:, None]
    k_f = nl.arange(columns)[None, :]
    first = nl.load(x[k_p, 0, k_f])
    tile[k_p, 0, k_f] = nisa.tensor_tensor(first, tile[k_p, 0, k_f], op=nl.add)
    nl.store(out[i_p, i_b, i_f], value=tile[i_p, i_b, i_f])
    return out
