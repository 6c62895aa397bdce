"""Tiles in another type, by a method."""

import nki
import nki.language as nl
import nki.isa as nisa

narrow = nl.bfloat16


@nki.jit
def rounded(x, bias):
    """(rows, columns) in fp32 of x * 2 and of x + bias, both rounded to bfloat16, and of x in int32."""
    rows, columns = x.shape
    assert bias.shape == (rows, columns)
    out = nl.ndarray((3, rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x)
    x_tile = nl.load(x)
    x_scaled = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=x_scaled, data=x_tile, op0=nl.multiply, operand0=2.0)
    twice = nl.ndarray((rows, columns), dtype=narrow, buffer=nl.sbuf)
    nisa.tensor_copy(dst=twice, src=x_scaled)
    twice_converted = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=twice_converted, src=twice)
    nl.store(out[0], value=twice_converted)
    assert x.dtype == bias.dtype, "rewritten for operands of one type"
    add_tile = nl.add(tile, nl.load(bias))
    summed = nl.ndarray((rows, columns), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.tensor_copy(dst=summed, src=add_tile)
    summed_copy = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=summed_copy, src=summed)
    nl.store(out[1], value=summed_copy)
    whole = nl.ndarray((rows, columns), dtype=nl.int32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=whole, src=tile)
    nl.store(out[2], value=nl.multiply(whole, 1.0, dtype=nl.float32))
    return out
