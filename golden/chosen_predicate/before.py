"""Predicates that a branch binds again: the same vectors, compared at other offsets."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def windowed(x, window=16, behind=False):
    """The ``window`` columns of each row of ``x`` (128, 512) up to the diagonal, or behind it."""
    out = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x[0:128, 0:512])
    rows, columns = nl.mgrid[0:128, 0:512]
    row = 64 + rows
    not_after = row >= columns
    not_before = columns > row - window
    if behind:
        not_after = row + window >= columns
        not_before = row < columns
    upper = nisa.affine_select(pred=not_after, on_true_tile=tile, on_false_value=-1.0, dtype=nl.float32)
    both = nisa.affine_select(pred=not_before, on_true_tile=upper, on_false_value=-2.0, dtype=nl.float32)
    nl.store(out[0:128, 0:512], value=both)
    return out
