"""Tensors that some launches have and others do not: an input, an output, and a tile."""

import nki
import nki.language as nl
import nki.isa as nisa


def dtype_named(name):
    """The data type that has a name."""
    if name == "float32":
        return nl.float32
    if name == "bfloat16":
        return nl.bfloat16
    if name == "float16":
        return nl.float16
    if name == "float8_e4m3":
        return nl.float8_e4m3
    if name == "float8_e5m2":
        return nl.float8_e5m2
    if name == "int32":
        return nl.int32
    if name == "int16":
        return nl.int16
    if name == "int8":
        return nl.int8
    if name == "uint32":
        return nl.uint32
    if name == "uint16":
        return nl.uint16
    if name == "uint8":
        return nl.uint8
    assert False, "dtype_named: no data type has this name"


@nki.jit
def shifted(x, bias=None, keep_largest=False, largest_dtype="float32"):
    """(P, F), perhaps with (1, 1, P, F): x and the bias doubled, if there is one; if asked for, the largest of each row."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    if keep_largest:
        dtype = dtype_named(largest_dtype)
        largest = nl.ndarray((rows, 1), dtype=dtype, buffer=nl.shared_hbm)
    else:
        largest = None
    if bias is not None:
        batch, heads, _, _ = bias.shape
        assert batch == 1 and heads == 1
    tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    bias_tile = None
    if bias is not None:
        bias_tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=bias_tile, src=bias[0, 0, nl.ds(0, rows), nl.ds(0, columns)])
        nisa.tensor_scalar(dst=bias_tile, data=bias_tile, op0=nl.multiply, operand0=2.0)
    if bias_tile is not None:
        nisa.tensor_tensor(dst=tile, data1=tile, data2=bias_tile, op=nl.add)
    nisa.dma_copy(dst=out, src=tile)
    if keep_largest:
        tile_max = nl.ndarray((rows, 1), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=tile_max, op=nl.maximum, data=tile, axis=1)
        nisa.dma_copy(dst=largest, src=tile_max)
        return out, largest
    return out
