"""Tensors that the kernel asserts to have one shape: what is known of one is known of all."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def gated_rows(x, gate, bias):
    """(P, F): each row of x times gate, less its largest element, plus bias."""
    rows, columns = x.shape
    assert x.shape == gate.shape == bias.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    x_tile = nl.load(x)
    gate_tile = nl.load(gate)
    bias_tile = nl.load(bias)
    product = nl.multiply(x_tile, gate_tile)
    largest = nl.max(product, axis=1, keepdims=True)
    nl.store(out, value=nl.add(nl.subtract(product, largest), bias_tile))
    return out


@nki.jit
def turned_sum(a, b):
    """(P, F) gives (F, P): the sum of both, transposed."""
    assert a.shape == b.shape, "both have one shape"
    total = nl.add(nl.load(a), nl.load(b))
    rows, columns = b.shape
    out = nl.ndarray((columns, rows), dtype=a.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nisa.nc_transpose(total))
    return out


@nki.jit
def middle(low, high):
    """Two tensors of any one shape: half of their sum."""
    assert low.shape == high.shape
    out = nl.ndarray(low.shape, dtype=low.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nl.multiply(nl.add(nl.load(low), nl.load(high)), 0.5))
    return out
