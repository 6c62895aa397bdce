"""Masks whose bounds are numbers: what they leave is a number, too."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def bordered(x):
    """``x`` of (300, 64), its first 30 columns doubled, and then 16 columns of its first 5 rows raised by one."""
    out = nl.ndarray((300, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    rows = nl.arange(128)[:, None]
    columns = nl.arange(64)[None, :]
    for t in nl.affine_range(3):
        block = nl.load(x[t * 128 + rows, columns], mask=(t * 128 + rows < 300) & (columns < 100))
        doubled = nl.multiply(block, 2.0, mask=(t * 128 + rows < 300) & (columns < 30))
        nl.store(out[t * 128 + rows, columns], value=doubled, mask=(t * 128 + rows < 300) & (columns < 30))
        nl.store(out[t * 128 + rows, columns], value=block, mask=(t * 128 + rows < 300) & (columns >= 30))
    first = nl.load(x[rows, columns], mask=columns < 20)
    raised = nl.add(first, 1.0, mask=(columns < 20) & (rows < 5))
    nl.store(out[rows, columns], value=raised, mask=(columns < 20) & (rows < 5) & (columns >= 4))
    return out
