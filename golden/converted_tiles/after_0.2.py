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
    tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    x_tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=x_tile, src=x)
    x_scaled = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=x_scaled, data=x_tile, op0=nl.multiply, operand0=2.0)
    twice = nl.ndarray((rows, columns), dtype=narrow, buffer=nl.sbuf)
    nisa.tensor_copy(dst=twice, src=x_scaled)
    twice_converted = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=twice_converted, src=twice)
    nisa.dma_copy(dst=out[0], src=twice_converted)
    bias_tile = nl.ndarray((rows, columns), dtype=bias.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=bias_tile, src=bias)
    assert x.dtype == bias.dtype, "rewritten for operands of one type"
    add_tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=add_tile, data1=tile, data2=bias_tile, op=nl.add)
    summed = nl.ndarray((rows, columns), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.tensor_copy(dst=summed, src=add_tile)
    summed_copy = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=summed_copy, src=summed)
    nisa.dma_copy(dst=out[1], src=summed_copy)
    whole = nl.ndarray((rows, columns), dtype=nl.int32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=whole, src=tile)
    whole_scaled = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=whole_scaled, data=whole, op0=nl.multiply, operand0=1.0)
    nisa.dma_copy(dst=out[2], src=whole_scaled)
    return out
