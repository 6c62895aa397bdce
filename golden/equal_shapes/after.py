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
    x_tile = nl.load(x)
    gate_tile = nl.load(gate)
    bias_tile = nl.load(bias)
    assert x.dtype == gate.dtype, "rewritten for operands of one type"
    product = nl.multiply(x_tile, gate_tile)
    largest = nl.max(product, axis=1, keepdims=True)
    subtract_tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=subtract_tile, data=product, op0=nl.subtract, operand0=largest)
    assert x.dtype == bias.dtype, "rewritten for operands of one type"
    add_tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=add_tile, data1=subtract_tile, data2=bias_tile, op=nl.add)
    nl.store(out, value=add_tile)
    return out


@nki.jit
def turned_sum(a, b):
    """(P, F) gives (F, P): the sum of both, transposed."""
    assert a.shape == b.shape, "both have one shape"
    assert a.dtype == b.dtype, "rewritten for operands of one type"
    total = nl.add(nl.load(a), nl.load(b))
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
    nl.store(out, value=total_transposed_sbuf)
    return out


@nki.jit
def middle(low, high):
    """Two tensors of any one shape: half of their sum."""
    assert low.shape == high.shape
    out = nl.ndarray(low.shape, dtype=low.dtype, buffer=nl.shared_hbm)
    low_tile = nl.load(low)
    high_tile = nl.load(high)
    assert low.dtype == high.dtype, "rewritten for operands of one type"
    add_tile = nl.ndarray(low_tile.shape, dtype=low.dtype, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=add_tile, data1=low_tile, data2=high_tile, op=nl.add)
    add_scaled = nl.ndarray(add_tile.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=add_scaled, data=add_tile, op0=nl.multiply, operand0=0.5)
    nl.store(out, value=add_scaled)
    return out
