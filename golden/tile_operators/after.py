"""Arithmetic on tiles with Python operators."""

import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def blended(x, y, weight):
    """(P, F) twice: x * weight + y * (1 - weight), and the same with y negated, in place."""
    rows, columns = x.shape
    out = nl.ndarray((2, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    a = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=x)
    b = nl.ndarray(y.shape, dtype=y.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=b, src=y)
    share = float(weight)
    product_tile = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=product_tile, data=a, op0=nl.multiply, operand0=share)
    product_tile_2 = nl.ndarray(b.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=product_tile_2, data=b, op0=nl.multiply, operand0=1.0 - weight)
    blend = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=blend, data1=product_tile, data2=product_tile_2, op=nl.add)
    nisa.dma_copy(dst=out[0], src=blend)
    result = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=result, data=a, op0=nl.multiply, operand0=weight)
    product_tile_3 = nl.ndarray(b.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=product_tile_3, data=b, op0=nl.multiply, operand0=1.0 - weight)
    nisa.tensor_tensor(dst=result, data1=result, data2=product_tile_3, op=nl.subtract)
    difference_tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=difference_tile, data1=a, data2=a, op=nl.subtract)
    nisa.tensor_tensor(dst=result, data1=result, data2=difference_tile, op=nl.add)
    nisa.dma_copy(dst=out[1], src=result)
    return out
