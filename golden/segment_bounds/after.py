"""Where the segment of each element begins and ends."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def bounds(segments):
    """(1, N) gives (1, 2, N): the first position of each element's segment, and the one behind its last."""
    _, count = segments.shape
    out = nl.ndarray((1, 2, count), dtype=segments.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(segments.shape, dtype=segments.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=segments)
    found = nl.ndarray((1, 2, count), dtype=segments.dtype, buffer=nl.sbuf)
    nisa.sequence_bounds(dst=found, segment_ids=tile)
    nisa.dma_copy(dst=out, src=found)
    return out
