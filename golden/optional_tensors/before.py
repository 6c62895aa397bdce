"""Tensors that some launches have and others do not: an input, an output, and a tile."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def shifted(x, bias=None, keep_largest=False, largest_dtype="float32"):
    """(P, F), perhaps with (1, 1, P, F): x and the bias doubled, if there is one; if asked for, the largest of each row."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    if keep_largest:
        dtype = getattr(nl, largest_dtype)
        largest = nl.ndarray((rows, 1), dtype=dtype, buffer=nl.shared_hbm)
    else:
        largest = None
    if bias is not None:
        batch, heads, _, _ = bias.shape
        assert batch == 1 and heads == 1
    tile = nl.load(x)
    bias_tile = None
    if bias is not None:
        bias_tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
        bias_tile[:, :] = nl.load(bias[0, 0, nl.ds(0, rows), nl.ds(0, columns)])
        bias_tile[...] = nl.multiply(bias_tile, 2.0)
    if bias_tile is not None:
        tile[...] = nl.add(tile, bias_tile)
    nl.store(out, value=tile)
    if keep_largest:
        nl.store(largest[:, :], value=nl.max(tile, axis=1))
        return out, largest
    return out
