"""Kernels with host code that casts NumPy arrays, and asks for a level that importing neuronxcc gives."""

import logging

import nki
import nki.language as nl
import nki.isa as nisa
import numpy as np

logging.disable(logging.CRITICAL + 1)  # only neuronxcc gives logging this level
QUIET = max(logging.INFO, (logging.CRITICAL + 1) - 1)


@nki.jit
def doubled(x):
    """(P, F) times two."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    twice = nl.ndarray(tile.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=twice, data=tile, op0=nl.multiply, operand0=2.0)
    nl.store(out, value=twice)
    return out


@nki.jit
def halved(x):
    """(P, F) by two."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    half = nl.ndarray(tile.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=half, data=tile, op0=nl.multiply, operand0=0.5)
    nl.store(out, value=half)
    return out


def close(rows, columns, dtype=nl.bfloat16):
    """Do both kernels undo each other?"""
    x = (np.random.random_sample((rows, columns)) - 0.5) * 2
    x = x.astype(dtype)
    there = doubled(x)
    result = np.asarray(halved(there)).astype(np.float32)  # as the comparison wants it
    return np.allclose(result, x.astype(np.float32))


if __name__ == "__main__":
    assert close(128, 512)
    assert (np.ones((2, 2)) * 3).astype(nl.float16).dtype == np.float16
