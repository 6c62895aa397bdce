"""A kernel that takes its sizes from an object."""

from dataclasses import dataclass

import nki
import nki.language as nl
import nki.isa as nisa


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
    first = nl.ndarray((window.rows, window.columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=first, src=x[0 : window.rows, nl.ds(window.pads[0], window.columns)])
    nisa.dma_copy(dst=out[:, 0 : window.columns], src=first)
    start = window.last(x.shape[1])
    last = nl.ndarray((window.rows, window.columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=last, src=x[0 : window.rows, nl.ds(start, window.columns)])
    nisa.dma_copy(dst=out[:, nl.ds(window.columns, window.columns)], src=last)
    return out
