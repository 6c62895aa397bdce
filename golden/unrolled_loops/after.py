"""Loops over tensors that are written out: pairs of an input and an output, a list with a name, operations."""

import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def turned(q, k, bias, factor=0.125):
    """(P, Q) and (P, K): the exponentials of both, q scaled first; and q plus, then times, the bias."""
    out_q = nl.ndarray(q.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    out_k = nl.ndarray(k.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    both = nl.ndarray((2, 128, q.shape[1]), dtype=nl.float32, buffer=nl.shared_hbm)
    # one is scaled
    # the other one is not
    tile = nl.load(q, dtype=nl.float32)

    assert isinstance(factor, float), "rewritten for a float"
    # as a whole
    nl.store(out_q, value=nl.exp(nl.multiply(tile, factor)))
    tile = nl.load(k, dtype=nl.float32)

    # as a whole
    nl.store(out_k, value=nl.exp(nl.multiply(tile, 1.0)))
    tiles = nl.ndarray((128, 2, q.shape[1]), dtype=nl.float32, buffer=nl.sbuf)
    tensor = nl.load(q, dtype=nl.float32)
    nisa.tensor_copy(dst=tiles[:, 0, :], src=tensor)
    tensor = nl.load(bias, dtype=nl.float32)
    nisa.tensor_copy(dst=tiles[:, 1, :], src=tensor)
    add_tile = nl.ndarray((128, q.shape[1]), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=add_tile, data1=tiles[:, 0, :], data2=tiles[:, 1, :], op=nl.add)
    nl.store(both[0], value=add_tile)
    multiply_tile = nl.ndarray((128, q.shape[1]), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=multiply_tile, data1=tiles[:, 0, :], data2=tiles[:, 1, :], op=nl.multiply)
    nl.store(both[1], value=multiply_tile)
    return out_q, out_k, both
