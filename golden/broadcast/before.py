"""A column spread over a tile: by the method, by the function, and by assignment."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def centred(x):
    """(P, F) gives (3, P, F): minus its row means, plus its row means, and the means alone."""
    rows, columns = x.shape
    out = nl.ndarray((3, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    total = nl.sum(tile, axis=1, keepdims=True)
    mean = nl.multiply(total, 1.0 / columns)
    # the method gives a view: the copy makes it a tile
    spread = nl.ndarray((nl.par_dim(rows), columns), dtype=x.dtype, buffer=nl.sbuf)
    spread[...] = nl.copy(mean.broadcast_to((rows, columns)))
    lower = nisa.tensor_tensor(tile, spread, op=nl.subtract)
    nl.store(out[0], value=lower)
    # the function gives a tile
    wide = nl.broadcast_to(mean, shape=(rows, columns))
    higher = nisa.tensor_tensor(tile, wide, op=nl.add)
    nl.store(out[1], value=higher)
    # an assignment repeats what it copies
    spread[...] = mean
    nl.store(out[2], value=spread)
    return out
