"""Values that a condition of Python chooses in an expression."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


def activated(tile, kind):
    """One of three functions of (P, F)."""
    return nl.maximum(tile, 0.0) if kind == "relu" else nl.exp(tile) if kind == "exp" else tile


@nki.jit
def scaled(x, bias=None, scale=None, kind="none", squares=False):
    """(P, F) and (P, 1) give (P, F): scale * (x + bias), then a function; squares of all but the first half of that."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    i_p = nl.arange(rows)[:, None]
    i_f = nl.arange(columns)[None, :]
    tile = nl.load(x[i_p, i_f], dtype=nl.float32)
    column = nl.load(bias[i_p, nl.arange(1)[None, :]]) if bias is not None else None  # one number a partition
    total = nl.add(tile, column) if column is not None else tile
    total = (
        nisa.tensor_scalar(total, nl.multiply, scale)
        if scale is not None
        else total
    )
    result = activated(total, kind)
    wide = columns if squares else 1
    half = wide // 2 if wide > 2 else wide
    nl.store(out[i_p, i_f], nl.square(result) if squares else result)
    nl.store(out[i_p, nl.arange(half)[None, :]], result[i_p, nl.arange(half)[None, :]])
    return out
