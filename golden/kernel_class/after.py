"""A kernel that takes its sizes from an object."""

from dataclasses import dataclass

import nki
import nki.language as nl


@dataclass(frozen=True)
class Window(nl.NKIObject):
    """The rows and columns that are read."""

    rows: int = 64
    columns: int = 30
    pads: tuple = (2, 3)

    def last(self, width):
        if width < self.columns:
            assert False, "the window is wider than the tensor"
        return width - self.columns


class Report:
    """What the host prints."""

    lines = ()


@nki.jit
def cut(x, window=Window()):
    """(P, F) to the window, and the last columns behind it."""
    out = nl.ndarray((window.rows, 2 * window.columns), dtype=x.dtype, buffer=nl.shared_hbm)
    first = nl.load(x[0 : window.rows, nl.ds(window.pads[0], window.columns)])
    nl.store(out[:, 0 : window.columns], value=first)
    start = window.last(x.shape[1])
    last = nl.load(x[0 : window.rows, nl.ds(start, window.columns)])
    nl.store(out[:, nl.ds(window.columns, window.columns)], value=last)
    return out
