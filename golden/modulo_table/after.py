"""A copy through a ring of two buffers."""

import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def ring_copy(samples):
    blocks, rows, columns = samples.shape
    out = nl.ndarray((blocks, rows, columns), dtype=samples.dtype, buffer=nl.shared_hbm)
    for b in nl.affine_range(blocks):
        ring = nl.ndarray(
            (rows, columns),
            dtype=nl.float32,
            buffer=nl.sbuf,
            address=(0, 4096 + (b % 2) * (columns * 4)),
        )
        nisa.dma_copy(dst=ring, src=samples[b])
        nl.store(out[b], value=ring)
    return out
