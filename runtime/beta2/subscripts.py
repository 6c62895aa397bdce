"""Which elements a subscript of Beta 2 takes of a tensor of some shape: starts, stops, steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import KernelError, SizesDiffer
from ..memory import View
from . import values


def plain_cut(shape: tuple[int, ...], parts: tuple[Any, ...]) -> tuple[tuple[slice, ...], tuple[int, ...]] | None:
    """What a subscript of ints and slices inside of ``shape`` takes of an array, and which dimensions have an int.

    ``None`` for anything else, which :func:`bounds_of` judges.
    """
    if len(parts) > len(shape):
        return None
    cut: Any = parts
    integers: tuple[int, ...] = ()
    d = 0  # to enumerate the parts costs more than to count them
    for part in parts:
        extent = shape[d]
        if type(part) is slice:
            start, stop = part.start, part.stop
            if part.step is not None or not extent:
                return None
            if start is not None and (type(start) is not int or not 0 <= start < extent):
                return None
            if stop is not None and (type(stop) is not int or not 0 <= stop <= extent):
                return None
        elif type(part) is int and 0 <= part < extent:
            if not integers:
                cut = list(parts)
            cut[d] = slice(part, part + 1)
            integers += (d,)
        else:
            return None
        d += 1  # noqa: SIM113
    return (tuple(cut), integers) if integers else (cut, ())


def steps_of(rank: int, parts: Sequence[object]) -> list[int]:
    """The step of every dimension that ``parts`` index."""
    given = [part for part in parts if part is not ...]
    missing = [1] * (rank - len(given))
    at = parts.index(...) if ... in parts else len(parts)
    steps = [values.integer(p.step) if isinstance(p, slice) and p.step is not None else 1 for p in given]
    return [*steps[:at], *missing, *steps[at:]]


def is_everything(parts: Sequence[object]) -> bool:
    return all(part is ... or part == slice(None) for part in parts)


def bounds_of(shape: tuple[int, ...], parts: Sequence[object], steps: bool = False) -> list[tuple[int, int, bool]]:
    """(start, stop, was an integer) of every dimension; ``steps`` other than 1 are an error unless asked for."""
    bounds: list[tuple[int, int, bool]] = []
    for position, part in enumerate(parts):
        remaining = len(parts) - position - 1
        if part is ...:
            while len(shape) - len(bounds) > remaining:
                bounds.append((0, shape[len(bounds)], False))
            continue
        if len(bounds) == len(shape):
            raise KernelError("", "too many indexes for shape")
        bounds.append(_bound(shape[len(bounds)], part, steps))
    while len(bounds) < len(shape):
        bounds.append((0, shape[len(bounds)], False))
    return bounds


def _bound(extent: int, part: object, steps: bool) -> tuple[int, int, bool]:
    if part is None:
        raise KernelError(
            "", "None is not a new axis in Beta 2 (the compiler reads it as a full slice): use .reshape or .ap"
        )
    if isinstance(part, slice):
        start = 0 if part.start is None else values.integer(part.start)
        stop = extent if part.stop is None else values.integer(part.stop)
        step = 1 if part.step is None else values.integer(part.step)
        start, stop = start + extent * (start < 0), stop + extent * (stop < 0)
        if start == extent == stop and step > 0:
            raise SizesDiffer("", "index out of range of tensor dimension")  # nothing, behind the last element
        if not 0 <= start < extent or not 0 <= stop <= extent or step <= 0:
            raise KernelError("", "index out of range of tensor dimension")
        if step != 1 and not steps:
            raise KernelError(
                "",
                f"slice with step {step}: the Beta 2 compiler divides the count and drops the stride, so it would read "
                "other elements. Write the stride in an access pattern, t.ap([[step, count], ...])",
            )
        return start, max(start, stop), False
    if isinstance(part, (tuple, list)):
        raise KernelError("", "nested tuple/list indexes not supported")
    if isinstance(part, View) or getattr(part, "kind_name", "") == "scalar":
        raise KernelError(
            "", f"expecting 'integer', got '{values.kind(part)}': use .ap(scalar_offset=) for a dynamic index"
        )
    at = values.integer(part)
    if not 0 <= at < extent:
        raise KernelError("", "index out of range of tensor dimension")
    return at, at + 1, True
