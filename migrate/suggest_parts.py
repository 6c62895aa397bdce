"""Parts of a case changed: a shape, a size everywhere or on some axes, a rank, a data type."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from nki_migrate.runtime.cases import Case, TensorSpec

from .variants import axes, resized, sizes, with_axis, with_number

_Guess = TypeVar("_Guess")
_LEADING = (2, 1, 4, 128)


def tensors(case: Case) -> dict[str, TensorSpec]:
    return {name: value for name, value in case.args.items() if isinstance(value, TensorSpec)}


def shaped(case: Case, name: str, shape: tuple[int, ...]) -> Case:
    """The case with another shape of a tensor."""
    return with_argument(case, name, replace(case.args[name], shape=shape))


def with_argument(case: Case, name: str, value: object) -> Case:
    return replace(case, args={**case.args, name: value})


def ranked(case: Case, name: str, rank: int) -> Iterator[Case]:
    """The tensor with dimensions more, before the others, or without its first ones."""
    shape = tensors(case)[name].shape
    if rank <= len(shape):
        yield shaped(case, name, shape[len(shape) - rank :])
        return
    for size in _LEADING:
        yield shaped(case, name, (size,) * (rank - len(shape)) + shape)
    yield shaped(case, name, shape + (1,) * (rank - len(shape)))


def ranked_alike(case: Case, name: str, rank: int) -> Iterator[Case]:
    """All tensors of the shape of one with another rank: an assert may want them alike."""
    alike = [other for other, spec in tensors(case).items() if spec.shape == tensors(case)[name].shape]
    for made in ranked(case, name, rank) if len(alike) > 1 else ():
        yield replace(case, args={**case.args, **dict.fromkeys(alike, made.args[name])})


def moved(case: Case, size: int, new: int) -> Iterator[Case]:
    """``new`` for ``size``: everywhere, on one axis of all tensors, on one axis or in one number, on two axes.

    1 is seldom the size of all that had another one: instructions spread what has it, and hide what does not fit.
    """
    if new < 1 or size == new:
        return
    together, alone = _together(case, size, new), _alone(case, size, new)
    yield from itertools.chain(alone, together) if new == 1 else itertools.chain(together, alone)
    for pair in itertools.combinations(_of_size(case, size), 2):
        if pair[0][0] != pair[1][0]:
            yield _on_axes(case, pair, new)


def _together(case: Case, size: int, new: int) -> Iterator[Case]:
    """``new`` for ``size`` everywhere, and on one axis of all tensors."""
    if size in sizes(case) or size in case.args.values():
        yield resized(case, size, new)
    places = _of_size(case, size)
    for number in dict.fromkeys(axis for _, axis in places):
        yield _on_axes(case, [place for place in places if place[1] == number], new)


def _alone(case: Case, size: int, new: int) -> Iterator[Case]:
    """``new`` for ``size`` on one axis, and in one number."""
    yield from (with_axis(case, name, axis, new) for name, axis in _of_size(case, size))
    yield from (
        with_number(case, name, new) for name, value in case.args.items() if type(value) is int and value == size
    )


def _of_size(case: Case, size: int) -> list[tuple[str, int]]:
    """The axes of the tensors that have a size."""
    known = tensors(case)
    return [(name, axis) for name, axis in axes(case) if known[name].shape[axis] == size]


def _on_axes(case: Case, places: Sequence[tuple[str, int]], new: int) -> Case:
    for name, axis in places:
        case = with_axis(case, name, axis, new)
    return case


def scaled(case: Case, size: int, new: int) -> Iterator[Case]:
    """``size`` may be a part of an axis, even where another axis has it: each changed as much as it would be."""
    if size < 1 or new < 1:
        return
    for known in sizes(case):
        if known != size and known * new % size == 0:
            yield from moved(case, known, known * new // size)


def in_turn(*sources: Iterator[_Guess]) -> Iterator[_Guess]:
    """One guess of each source, then another one of each: none keeps all others waiting."""
    left = list(sources)
    while left:
        for source in list(left):
            try:
                yield next(source)
            except StopIteration:
                left.remove(source)


def typed(case: Case, name: str, dtype: str) -> Case:
    """The case with another data type of a tensor."""
    fill = "normal" if "float" in dtype else "integers"
    low, high = (0, 1) if fill == "integers" else (None, None)
    spec = tensors(case)[name]
    return with_argument(case, name, replace(spec, dtype=dtype, fill=fill, low=low, high=high))


def toggled(case: Case) -> Iterator[Case]:
    """Each truth value of the case changed."""
    for name, value in case.args.items():
        if isinstance(value, bool):
            yield with_argument(case, name, not value)
