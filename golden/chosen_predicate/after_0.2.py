"""Predicates that a branch binds again: the same vectors, compared at other offsets."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def windowed(x, window=16, behind=False):
    """The ``window`` columns of each row of ``x`` (128, 512) up to the diagonal, or behind it."""
    out = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.shared_hbm)
    assert len(x.shape) == 2, "rewritten for 2 dimensions"
    tile = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x[0:128, 0:512])
    upper = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
    nisa.affine_select(
        dst=upper,
        pattern=[[-1, 512]],
        offset=(64 + window) if behind else 64,
        channel_multiplier=1,
        on_true_tile=tile,
        on_false_value=-1.0,
        cmp_op=nl.greater_equal,
    )
    both = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
    nisa.affine_select(
        dst=both,
        pattern=[[1, 512]],
        offset=-(64 if behind else (64 - window)),
        channel_multiplier=-1,
        on_true_tile=upper,
        on_false_value=-2.0,
        cmp_op=nl.greater,
    )
    nisa.dma_copy(dst=out, src=both)
    return out
