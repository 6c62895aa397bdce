"""Loops over tensors that are written out: pairs of an input and an output, a list with a name, operations."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def turned(q, k, bias, factor=0.125):
    """(P, Q) and (P, K): the exponentials of both, q scaled first; and q plus, then times, the bias."""
    out_q = nl.ndarray(q.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    out_k = nl.ndarray(k.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    both = nl.ndarray((2, 128, q.shape[1]), dtype=nl.float32, buffer=nl.shared_hbm)
    # one is scaled
    for source, out, scale in ((q, out_q, factor), (k, out_k, 1.0)):  # the other one is not
        tile = nl.load(source, dtype=nl.float32)

        # as a whole
        nl.store(out, value=nl.exp(nl.multiply(tile, scale)))
    tensors = [q, bias]
    tiles = nl.ndarray((2, nl.par_dim(128), q.shape[1]), dtype=nl.float32, buffer=nl.sbuf)
    for i, tensor in enumerate(tensors):
        tensor = nl.load(tensor, dtype=nl.float32)
        tiles[i] = nl.copy(tensor)
    for i, operation in enumerate([nl.add, nl.multiply]):
        nl.store(both[i], value=operation(tiles[0], tiles[1]))
    return out_q, out_k, both
