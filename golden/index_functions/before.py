"""Indices from lambdas, a dictionary of lambdas, and a function in the kernel."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def halves(x):
    """(T * 128, 2 * F): the two halves of each row change places, the second one doubled."""
    rows, columns = x.shape
    half = columns // 2
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    row = lambda t: t * 128 + nl.arange(128)[:, None]  # of one tile
    column = {
        "first": lambda: nl.arange(half)[None, :],
        # behind the first half
        "second": lambda start=0: nl.arange(half)[None, :] + half + start,
    }

    def doubled(k):
        """Where double the value goes."""
        return column["first"]() + k * half

    for t in nl.affine_range(rows // 128):
        first = nl.load(x[row(t), column["first"]()])
        second = nl.load(x[row(t), column["second"]()])
        nl.store(out[row(t), column["second"](start=0)], value=first)
        twice = nl.add(second, second)
        nl.store(out[row(t), doubled(0)], value=twice)
    return out
