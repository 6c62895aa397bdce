"""A column spread over a tile: by the method, by the function, and by assignment."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def centred(x):
    """(P, F) gives (3, P, F): minus its row means, plus its row means, and the means alone."""
    rows, columns = x.shape
    out = nl.ndarray((3, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    total = nl.ndarray((rows, 1), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=total, op=nl.add, data=tile, axis=1)
    mean = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=mean, data=total, op0=nl.multiply, operand0=1.0 / columns)
    # the method gives a view: the copy makes it a tile
    spread = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=spread, src=mean.ap(pattern=[[1, rows], [0, columns]]))
    lower = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=lower, data1=tile, data2=spread, op=nl.subtract)
    nisa.dma_copy(dst=out[0], src=lower)
    # the function gives a tile
    wide = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=wide, src=mean.ap(pattern=[[1, rows], [0, columns]]))
    higher = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=higher, data1=tile, data2=wide, op=nl.add)
    nisa.dma_copy(dst=out[1], src=higher)
    # an assignment repeats what it copies
    nisa.tensor_copy(dst=spread, src=mean.ap(pattern=[[1, rows], [0, columns]]))
    nisa.dma_copy(dst=out[2], src=spread)
    return out
