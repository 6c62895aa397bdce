"""Four operands of one type in a loop: what the rewrite takes for granted is one assertion in front of it."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def blended(a, b, c, d):
    """(M, N): (a + b) * c - d, in tiles of 128 rows."""
    m, n = a.shape
    out = nl.ndarray((m, n), dtype=a.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(m // 128):
        rows = nl.ds(i * 128, 128)
        total = nl.add(nl.load(a[rows, 0:n]), nl.load(b[rows, 0:n]))
        scaled = nl.multiply(total, nl.load(c[rows, 0:n]))
        nl.store(out[rows, 0:n], value=nl.subtract(scaled, nl.load(d[rows, 0:n])))
    return out
