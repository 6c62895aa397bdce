"""Checks of Beta 2 instructions against NumPy, one an instruction: what they share, and where they register.

A check is a function of a random generator that is named after its instruction. The references are written from the
2.28 documentation, in float64 where rounding is allowed for.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from nki_migrate.runtime.beta2 import launch
from nki_migrate.runtime.beta2.modules import MODULES
from nki_migrate.runtime.spec.hardware import TARGETS

execute = partial(launch.execute, version="0.2")

nl, nisa = MODULES["nki.language"], MODULES["nki.isa"]
CHECKS = {}


def check(function):
    CHECKS[function.__name__] = function
    return function


def new(shape, dtype=None, buffer=None):
    return nl.ndarray(shape, dtype or nl.float32, buffer or nl.sbuf)


def loaded(array):
    tile = nl.ndarray(array.shape, array.dtype, nl.sbuf)
    nisa.dma_copy(dst=tile, src=array)
    return tile


def stored(tile):
    source = tile
    if tile.buffer is nl.psum:
        source = new(tile.shape, tile.dtype)
        nisa.tensor_copy(source, tile)
    out = nl.ndarray(tile.shape, tile.dtype, nl.shared_hbm)
    nisa.dma_copy(dst=out, src=source)
    return out


def run(body, *arrays, target="gen3"):
    """What ``body`` returns for tiles with the values of ``arrays``: one array, or several."""

    def kernel(arrays):
        tiles = body(*[loaded(array) for array in arrays])
        return tuple(stored(tile) for tile in (tiles if isinstance(tiles, tuple) else (tiles,)))

    outputs = execute(kernel, {"arrays": list(arrays)}, target=TARGETS[target]).outputs
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def into(shape, dtype=None, buffer=None):
    """A decorator: the body gets a new tile first, and that tile is the result."""

    def decorate(body):
        def call(*tiles):
            dst = new(shape, dtype, buffer)
            body(dst, *tiles)
            return dst

        return call

    return decorate


def normal(rng, *shape, dtype=np.float32):
    return rng.standard_normal(shape).astype(dtype)


def close(found, expected, rtol=1e-5, atol=1e-5):
    assert found.shape == expected.shape
    assert np.allclose(found.astype(np.float64), expected, rtol=rtol, atol=atol)


def same(found, expected):
    assert found.shape == expected.shape
    assert np.array_equal(found, expected)
