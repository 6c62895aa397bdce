"""The first largest element of each window: tiles that broadcast along free dimensions, and a choice between tiles."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def first_largest(x, size):
    """(P, N * size * size) gives (P, N): where in each window of size * size elements the first largest one is."""
    rows, columns = x.shape
    windows = columns // (size * size)
    out = nl.ndarray((rows, windows), dtype=nl.int32, buffer=nl.shared_hbm)
    at = nl.mgrid[0:rows, 0:windows, 0:size, 0:size]
    flat = nl.load(x)
    tile = nl.copy(flat[at.p, size * size * at.x + size * at.y + at.z])
    largest = nl.max(tile, axis=[2, 3], keepdims=True)
    found = nl.equal(largest, tile, dtype=nl.int8)
    numbers = nisa.iota(size * at.y + at.z, dtype=nl.int32)
    chosen = nl.where(found, numbers, size * size, dtype=nl.int32)
    result = nl.min(chosen, axis=[2, 3], dtype=nl.int32)
    nl.store(out, value=result)
    return out
