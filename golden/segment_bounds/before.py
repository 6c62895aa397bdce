"""Where the segment of each element begins and ends."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def bounds(segments):
    """(1, N) gives (1, 2, N): the first position of each element's segment, and the one behind its last."""
    _, count = segments.shape
    out = nl.ndarray((1, 2, count), dtype=segments.dtype, buffer=nl.shared_hbm)
    tile = nl.load(segments)
    found = nisa.sequence_bounds(segment_ids=tile)
    nl.store(out, value=found)
    return out
