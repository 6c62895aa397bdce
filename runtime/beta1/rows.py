"""What a mask of the first elements row by row leaves of a DMA: whole rows, and a part of the next one.

One instruction of Beta 1 is two in Beta 2, which has no masks: it is recorded as those two.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy

import numpy as np

from ..isa.core import Result
from ..memory import Array, View
from .indirect import Masked


def first_elements(chosen: Array) -> tuple[int, int] | None:
    """How many whole rows, and elements of the next, a plane of booleans chooses; ``None`` when it chooses others."""
    rows, columns = chosen.shape
    full = rows if chosen.all() else int(np.argmin(chosen.all(axis=1)))
    rest = int(chosen[full].sum()) if full < rows else 0
    exact = int(chosen.sum()) == full * columns + rest and (rest == 0 or bool(chosen[full, :rest].all()))
    return (full, rest) if exact else None


def in_rows(result: Result, dst: View, chosen: Array) -> Iterator[tuple[Result, View, Array | None]]:
    """The instructions that write ``result`` to ``dst`` where ``chosen`` says so: each with its part of ``dst``."""
    shapes = {result.values.shape, dst.array.shape, *(view.array.shape for _, view in result.reads)}
    plane = result.op == "dma_copy" and chosen.ndim == 2 and shapes == {chosen.shape}
    found = first_elements(chosen) if plane else None
    if found is None:
        yield result, dst, chosen
        return
    full, rest = found
    cuts = [(slice(0, full), slice(None))] if full else []
    cuts += [(slice(full, full + 1), slice(0, rest))] if rest else []
    for cut in cuts:
        reads = tuple((role, _part(view, cut)) for role, view in result.reads)
        part = copy(result)
        part.values, part.reads = result.values[cut], reads
        yield part, _part(dst, cut), None


def _part(view: View, cut: tuple[slice, slice]) -> View:
    """The rectangle ``cut`` of an operand; of one that a mask keeps in bounds, that in memory."""
    return view.rectangle(*cut) if isinstance(view, Masked) else view.reading(view.array[cut])
