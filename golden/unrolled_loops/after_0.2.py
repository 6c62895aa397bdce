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
    tile = nl.ndarray(q.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=q)

    # as a whole
    assert isinstance(factor, float), "rewritten for a float"
    tile_scaled = nl.ndarray(tile.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=tile_scaled, data=tile, op0=nl.multiply, operand0=factor)
    tile_scaled_exp = nl.ndarray(tile_scaled.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.activation(dst=tile_scaled_exp, op=nl.exp, data=tile_scaled)
    nisa.dma_copy(dst=out_q, src=tile_scaled_exp)
    tile = nl.ndarray(k.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=k)

    # as a whole
    tile_scaled_2 = nl.ndarray(tile.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=tile_scaled_2, data=tile, op0=nl.multiply, operand0=1.0)
    tile_scaled_2_exp = nl.ndarray(tile_scaled_2.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.activation(dst=tile_scaled_2_exp, op=nl.exp, data=tile_scaled_2)
    nisa.dma_copy(dst=out_k, src=tile_scaled_2_exp)
    tiles = nl.ndarray((128, 2, q.shape[1]), dtype=nl.float32, buffer=nl.sbuf)
    tensor = nl.ndarray(q.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tensor, src=q)
    nisa.tensor_copy(dst=tiles[:, 0, :], src=tensor)
    tensor = nl.ndarray(bias.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tensor, src=bias)
    nisa.tensor_copy(dst=tiles[:, 1, :], src=tensor)
    add_tile = nl.ndarray((128, q.shape[1]), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=add_tile, data1=tiles[:, 0, :], data2=tiles[:, 1, :], op=nl.add)
    nisa.dma_copy(dst=both[0], src=add_tile)
    multiply_tile = nl.ndarray((128, q.shape[1]), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=multiply_tile, data1=tiles[:, 0, :], data2=tiles[:, 1, :], op=nl.multiply)
    nisa.dma_copy(dst=both[1], src=multiply_tile)
    return out_q, out_k, both
