"""The first largest element of each window: tiles that broadcast along free dimensions, and a choice between tiles."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def first_largest(x, size):
    """(P, N * size * size) gives (P, N): where in each window of size * size elements the first largest one is."""
    rows, columns = x.shape
    windows = columns // (size * size)
    out = nl.ndarray((rows, windows), dtype=nl.int32, buffer=nl.shared_hbm)
    flat = nl.load(x)
    tile = nl.ndarray((rows, windows, size, size), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=tile, src=flat.ap(pattern=[[columns, rows], [size * size, windows], [size, size], [1, size]]))
    largest = nl.max(tile, axis=[2, 3], keepdims=True)
    found = nl.ndarray((rows, windows, size, size), dtype=nl.int8, buffer=nl.sbuf)
    nisa.tensor_tensor(
        dst=found,
        data1=largest.ap(pattern=[[windows, rows], [1, windows], [0, size], [0, size]]),
        data2=tile,
        op=nl.equal,
    )
    numbers = nl.ndarray((rows, windows, size, size), dtype=nl.int32, buffer=nl.sbuf)
    nisa.iota(dst=numbers, pattern=[[0, windows], [size, size], [1, size]], offset=0, channel_multiplier=0)
    tensor_scalar_tile = nl.ndarray((rows, windows, size, size), dtype=nl.uint8, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=tensor_scalar_tile, data=found, op0=nl.not_equal, operand0=0.0)
    chosen = nl.ndarray((rows, windows, size, size), dtype=nl.int32, buffer=nl.sbuf)
    nisa.memset(dst=chosen, value=size * size)
    nisa.tensor_copy_predicated(dst=chosen, src=numbers, predicate=tensor_scalar_tile)
    result = nl.min(chosen, axis=[2, 3], dtype=nl.int32)
    nl.store(out, value=result)
    return out
