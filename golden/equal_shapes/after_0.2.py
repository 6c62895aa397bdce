"""Tensors that the kernel asserts to have one shape: what is known of one is known of all."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def gated_rows(x, gate, bias):
    """(P, F): each row of x times gate, less its largest element, plus bias."""
    rows, columns = x.shape
    assert x.shape == gate.shape == bias.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    x_tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=x_tile, src=x)
    gate_tile = nl.ndarray((rows, columns), dtype=gate.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=gate_tile, src=gate)
    bias_tile = nl.ndarray((rows, columns), dtype=bias.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=bias_tile, src=bias)
    assert x.dtype == gate.dtype, "rewritten for operands of one type"
    product = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=product, data1=x_tile, data2=gate_tile, op=nl.multiply)
    largest = nl.ndarray((rows, 1), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=largest, op=nl.maximum, data=product, axis=1)
    subtract_tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=subtract_tile, data=product, op0=nl.subtract, operand0=largest)
    assert x.dtype == bias.dtype, "rewritten for operands of one type"
    add_tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=add_tile, data1=subtract_tile, data2=bias_tile, op=nl.add)
    nisa.dma_copy(dst=out, src=add_tile)
    return out


@nki.jit
def turned_sum(a, b):
    """(P, F) gives (F, P): the sum of both, transposed."""
    assert a.shape == b.shape, "both have one shape"
    a_tile = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=a_tile, src=a)
    b_tile = nl.ndarray(b.shape, dtype=b.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=b_tile, src=b)
    assert a.dtype == b.dtype, "rewritten for operands of one type"
    total = nl.ndarray(a_tile.shape, dtype=a.dtype, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=total, data1=a_tile, data2=b_tile, op=nl.add)
    rows, columns = b.shape
    out = nl.ndarray((columns, rows), dtype=a.dtype, buffer=nl.shared_hbm)
    assert len(total.shape) == 2, "rewritten for 2 dimensions"
    total_transposed = nl.ndarray(
        (total.shape[1], total.shape[0]), dtype=a.dtype, buffer=nl.psum
    )
    nisa.nc_transpose(dst=total_transposed, data=total)
    total_transposed_sbuf = nl.ndarray(
        (total.shape[1], total.shape[0]), dtype=a.dtype, buffer=nl.sbuf
    )
    nisa.tensor_copy(dst=total_transposed_sbuf, src=total_transposed)
    nisa.dma_copy(dst=out, src=total_transposed_sbuf)
    return out


@nki.jit
def middle(low, high):
    """Two tensors of any one shape: half of their sum."""
    assert low.shape == high.shape
    out = nl.ndarray(low.shape, dtype=low.dtype, buffer=nl.shared_hbm)
    low_tile = nl.ndarray(low.shape, dtype=low.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=low_tile, src=low)
    high_tile = nl.ndarray(high.shape, dtype=high.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=high_tile, src=high)
    assert low.dtype == high.dtype, "rewritten for operands of one type"
    add_tile = nl.ndarray(low_tile.shape, dtype=low.dtype, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=add_tile, data1=low_tile, data2=high_tile, op=nl.add)
    add_scaled = nl.ndarray(add_tile.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=add_scaled, data=add_tile, op0=nl.multiply, operand0=0.5)
    nisa.dma_copy(dst=out, src=add_scaled)
    return out
