"""Four operands of one type in a loop: what the rewrite takes for granted is one assertion in front of it."""

import nki
import nki.language as nl


@nki.jit
def blended(a, b, c, d):
    """(M, N): (a + b) * c - d, in tiles of 128 rows."""
    m, n = a.shape
    out = nl.ndarray((m, n), dtype=a.dtype, buffer=nl.shared_hbm)
    assert a.dtype == b.dtype == c.dtype, "rewritten for operands of one type"
    for i in nl.affine_range(m // 128):
        total = nl.add(nl.load(a[nl.ds(i * 128, 128), 0:n]), nl.load(b[nl.ds(i * 128, 128), 0:n]))
        scaled = nl.multiply(total, nl.load(c[nl.ds(i * 128, 128), 0:n]))
        nl.store(
            out[nl.ds(i * 128, 128), 0:n], value=nl.subtract(scaled, nl.load(d[nl.ds(i * 128, 128), 0:n]))
        )
    return out
