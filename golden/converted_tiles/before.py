"""Tiles in another type, by a method."""

from neuronxcc import nki
import neuronxcc.nki.language as nl

narrow = nl.bfloat16


@nki.jit
def rounded(x, bias):
    """(rows, columns) in fp32 of x * 2 and of x + bias, both rounded to bfloat16, and of x in int32."""
    rows, columns = x.shape
    assert bias.shape == (rows, columns)
    out = nl.ndarray((3, rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x)
    twice = (nl.load(x) * 2.0).astype(narrow)
    nl.store(out[0], value=twice.astype(nl.float32))
    summed = nl.add(tile, nl.load(bias)).astype(dtype=nl.bfloat16)
    nl.store(out[1], value=nl.copy(summed, dtype=nl.float32))
    whole = tile.astype(nl.int32)
    nl.store(out[2], value=nl.multiply(whole, 1.0, dtype=nl.float32))
    return out
