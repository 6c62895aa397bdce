"""A column spread over a tile, by the function and by the method."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def centred(x):
    """(P, F) minus its row means."""
    rows, columns = x.shape
    out = nl.ndarray((2, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    total = nl.sum(tile, axis=1, keepdims=True)
    mean = nl.multiply(total, 1.0 / columns)
    # the method gives a view: the copy makes it a tile
    spread = nl.ndarray((nl.par_dim(rows), columns), dtype=x.dtype, buffer=nl.sbuf)
    spread[...] = nl.copy(mean.broadcast_to((rows, columns)))
    lower = nisa.tensor_tensor(tile, spread, op=nl.subtract)
    nl.store(out[0], value=lower)
    # assignment broadcasts by itself
    spread[...] = mean
    higher = nisa.tensor_tensor(tile, spread, op=nl.add)
    nl.store(out[1], value=higher)
    return out
