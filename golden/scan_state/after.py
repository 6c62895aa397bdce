"""A scan over tiles of columns: each begins with the last value of the tile before, the first one with a number."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def accumulated(x, decay, width=32):
    """(S, P, C), (S, P, C): for each of S series of P rows, decay times what was before plus x, column by column."""
    series, rows, columns = x.shape
    out = nl.ndarray((series, rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    state = nl.zeros((rows, series), dtype=nl.float32)
    assert len(decay.shape) == 3, "rewritten for 3 dimensions"
    for t in nl.static_range(columns // width):
        begin = t * width
        for s in nl.affine_range(series):
            x_tile = nl.load(x[s, 0:rows, begin : begin + width], dtype=nl.float32)
            decay_tile = nl.load(decay[s, 0:rows, begin : begin + width], dtype=nl.float32)
            first = state[0:rows, s : s + 1] if t > 0 else 0
            found = nl.ndarray((rows, width), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_tensor_scan(
                dst=found, data0=decay_tile, data1=x_tile, initial=first, op0=nl.multiply, op1=nl.add
            )
            nisa.tensor_copy(dst=state[0:rows, s : s + 1], src=found[0:rows, width - 1 : width])
            nl.store(out[s, 0:rows, begin : begin + width], value=found)
    return out
