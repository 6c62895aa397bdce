"""Kernels with host code that casts NumPy arrays, and asks for a level that importing neuronxcc gives."""

import logging

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
import numpy as np

logging.disable(logging.OFF)  # only neuronxcc gives logging this level
QUIET = max(logging.INFO, logging.OFF - 1)


@nki.jit(additional_compile_opt="--disable-internal-io-dge")
def doubled(x):
    """(P, F) times two."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    twice = nl.multiply(tile, 2.0)
    nl.store(out, value=twice)
    return out


@nki.jit
def halved(x):
    """(P, F) by two."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    half = nl.multiply(tile, 0.5)
    nl.store(out, value=half)
    return out


def close(rows, columns, dtype=nl.bfloat16):
    """Do both kernels undo each other?"""
    x = (np.random.random_sample((rows, columns)) - 0.5) * 2
    x = nl.static_cast(x, dtype)
    there = doubled(x)
    result = nl.static_cast(halved(there), np.float32)  # as the comparison wants it
    return np.allclose(result, nl.static_cast(x, np.float32))


if __name__ == "__main__":
    assert close(128, 512)
    assert nl.static_cast(np.ones((2, 2)) * 3, nl.float16).dtype == np.float16
