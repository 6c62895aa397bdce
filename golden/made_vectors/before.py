"""The middle rows of each channel: index vectors come from a helper."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def vectors(*sizes):
    """One index vector for each size: a 0 in place of a size of 1, and no last dimension of 1."""
    rank = len(sizes)
    if sizes[-1] == 1:
        assert sizes[-2] != 1, "two last sizes of 1"
        rank -= 1
    found = []
    for d, size in enumerate(sizes):
        if size > 1:
            place = [None] * rank
            place[d] = slice(None)
            found.append(nl.arange(size)[tuple(place)])
        else:
            found.append(0)
    return found


@nki.jit
def middle_rows(x, rows):
    """x (C, H, W) gives (C, rows, W): all from row 1 on, as far as there are any; the others are 0."""
    channels, height, width = x.shape
    out = nl.ndarray((channels, rows, width), dtype=x.dtype, buffer=nl.shared_hbm)
    kept = nl.zeros((128, rows, width), dtype=x.dtype, buffer=nl.sbuf)
    i_c, i_h, i_w = vectors(channels, rows, width)
    kept[i_c, i_h, i_w] = nl.load(x[i_c, i_h + 1, i_w], mask=i_h + 1 < height)
    nl.store(out[i_c, i_h, i_w], value=kept[i_c, i_h, i_w])
    return out
