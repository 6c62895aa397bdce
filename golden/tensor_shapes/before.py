"""Rows centred and scaled by helpers that reduce the dimensions which a parameter names."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np


def repeated(reduced, tile):
    """What a reduction left, with as many dimensions as ``tile`` has."""
    return reduced.expand_dims(tuple(range(reduced.ndim, tile.ndim)))


def scaled(tile, axes):
    """Each row less its mean over ``axes``, over its largest absolute value."""
    counted = 1
    for axis in axes:
        counted = counted * tile.shape[axis]
    total = nisa.tensor_reduce(np.add, data=tile, axis=axes, dtype=nl.float32)
    mean = nl.multiply(total, 1.0 / counted)
    centred = nl.subtract(tile, repeated(mean, tile), dtype=nl.float32)
    largest = nl.max(nl.abs(centred), axis=axes)
    return nl.multiply(centred, nl.reciprocal(largest).expand_dims(-1))


@nki.jit
def normalized(x, planes, axes):
    """(P, planes * F): every partition is scaled on its own, or every plane of it."""
    partitions, columns = x.shape
    out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x).reshape((partitions, planes, columns // planes))
    assert tile.ndim == 3 and tile.shape_2d[1] == columns
    result = scaled(tile, axes)
    nl.store(out, result.reshape((partitions, result.shape_2d[1])))
    return out
