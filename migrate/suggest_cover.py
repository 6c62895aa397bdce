"""What makes cases meaningful: loops that run more than once, a tail, and the other side of each condition.

Begins with a case that runs. Sizes are doubled where that makes the kernel do more, then cut so that a mask has
something to leave out; of all that ran, those are kept that show something of the kernel that the others do not.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nki_migrate.runtime.cases import Case
from nki_migrate.runtime.messages import Probe

from .suggest_clock import Over
from .suggest_parts import ranked, ranked_alike, tensors, toggled, typed
from .suggest_search import Ask, reaching
from .variants import resized, sizes, with_axis

_MOST_INSTRUCTIONS = 4000
_LARGEST = 2048
_CASES = 6
_BATCH = 4
_TURNING = 12
_AXES = 8
"""Axes that are doubled alone."""
_TAIL = 28
"""What is cut off a size: no multiple of anything that a tile is."""

_SMALLER = ("bfloat16", "float16")
_OF_RANKS = re.compile(r"n_?dims?\b|\brank\b|\blen\(")
"""What names the number of dimensions of a tensor in a condition."""

Side = tuple[str, int, str, bool]


@dataclass(frozen=True)
class Covering:
    """Cases that show a kernel, and what none of them shows: a line for each side of a condition that none took."""

    cases: list[Case]
    unseen: tuple[str, ...]


def covering(
    first: tuple[Case, Probe], others: Sequence[Case], ask: Ask, over: Over, named: Mapping[str, int] | None = None
) -> Covering:
    """``first``, or a larger case, and those of its variations and of ``others`` that show more; at most six.

    ``named`` are the numbers that names of the source stand for in conditions.
    """
    again = _ran([first[0]], ask, over)  # a search does not ask how conditions go
    main, ran = _grown(again[0] if again else first, ask, over)
    kept = [main[0]]
    shown = sides(main[1])
    cut = _ran([] if main[0].abridged else list(_tails(main[0])), ask, over)
    tails = [ran for ran in cut if not _is_idle(ran[1], main[1])]
    if tails:
        kept.append(tails[0][0])
        shown |= sides(tails[0][1])
    others = [*toggled(main[0]), *others]
    for case, probe in [first, *ran, *tails, *_ran(others, ask, over)]:
        if len(kept) < _CASES and sides(probe) - shown:
            kept.append(case)
            shown |= sides(probe)
    turned = (_of_other_types(first[0], shown), _of_other_ranks(main[0], shown), _turning(main[0], shown, named or {}))
    turning = itertools.chain.from_iterable(turned)
    for case, probe in _ran(list(itertools.islice(turning, _TURNING)) if len(kept) < _CASES else [], ask, over):
        if len(kept) < _CASES and sides(probe) - shown and not _is_idle(probe, main[1]):
            kept.append(case)
            shown |= sides(probe)
    if len(kept) == 1:
        kept += [case for case, _ in ran[:1]]
    return Covering(list({repr(case): case for case in kept}.values()), _unseen(shown))


def _is_idle(probe: Probe, main: Probe) -> bool:
    """Do other sizes leave an argument unread? What is stored then may be a sum without a step."""
    return probe.unread and not main.unread


def _turning(case: Case, shown: set[Side], named: Mapping[str, int]) -> Iterator[Case]:
    """Sizes around the numbers of conditions that went one way only: twice one, and half of it."""
    texts = {text for _, _, text, _ in _missing(shown)}
    numbers = {int(found) for text in texts for found in re.findall(r"\b\d+\b", text)}
    numbers |= {named[found] for text in texts for found in re.findall(r"\b[A-Za-z_]\w*\b", text) if found in named}
    for number in sorted(each for each in numbers if 2 <= each <= _LARGEST):
        for size in sizes(case):
            yield from (resized(case, size, new) for new in (2 * number, max(number // 2, 1)) if new != size)


def _of_other_types(case: Case, shown: set[Side]) -> Iterator[Case]:
    """All tensors of float32 in a smaller type, where a type decides a condition; first in one that it names."""
    asked = [text for _, _, text, _ in _missing(shown) if "dtype" in text]
    floats = [name for name, spec in tensors(case).items() if spec.dtype == "float32"]
    for dtype in sorted(_SMALLER, key=lambda dtype: not any(dtype in text for text in asked)):
        if asked and floats:
            yield functools.reduce(lambda whole, name, dtype=dtype: typed(whole, name, dtype), floats, case)


def _of_other_ranks(case: Case, shown: set[Side]) -> Iterator[Case]:
    """A dimension more and one less, of one tensor and of all that are alike, where a rank decides a condition."""
    if not any(_OF_RANKS.search(text) for _, _, text, _ in _missing(shown)):
        return
    for name, spec in tensors(case).items():
        for rank in (len(spec.shape) + 1, len(spec.shape) - 1):
            if rank > 0:
                yield from itertools.islice(ranked_alike(case, name, rank), 1)
                yield from itertools.islice(ranked(case, name, rank), 1)


def _missing(shown: set[Side]) -> set[Side]:
    """The other side of each condition that always went one way."""
    return {(file, line, text, not side) for file, line, text, side in shown} - shown


def _unseen(shown: set[Side]) -> tuple[str, ...]:
    """What was not seen, for the reader."""
    return tuple(
        f"`{text}` ({Path(file).name}:{line}) is never {str(side).lower()}"
        for file, line, text, side in sorted(_missing(shown))
    )


def sides(probe: Probe) -> set[Side]:
    """The sides of conditions that a run took."""
    taken = ((c, side) for c in probe.conditions for side in (True, False) if (c.true if side else c.false))
    return {(c.file, c.line, c.text, side) for c, side in taken}


def _grown(first: tuple[Case, Probe], ask: Ask, over: Over) -> tuple[tuple[Case, Probe], list[tuple[Case, Probe]]]:
    """The case with each size doubled that makes more instructions, and all larger cases that ran."""
    case, probe = first
    if probe.instructions > _MOST_INSTRUCTIONS // 2 or case.abridged:
        return first, []  # the sizes of an abridged case are those that the source tells
    wanted = [size for size in sizes(case) if 1 <= size <= _LARGEST // 2]
    doubled = [(size, resized(case, size, 2 * size)) for size in wanted]
    ran = _ran([larger for _, larger in doubled], ask, over)
    more = [(c, p) for c, p in ran if probe.instructions < p.instructions <= _MOST_INSTRUCTIONS]
    main, whole = first, case
    for size, larger in sorted(doubled, key=lambda each: -each[0]):
        if any(repr(c) == repr(larger) for c, _ in more):
            whole = resized(whole, size, 2 * size)
    together = _ran([whole], ask, over) if more else []
    if together and together[0][1].instructions <= _MOST_INSTRUCTIONS:
        main = together[0]
    elif more:
        main = max(more, key=lambda item: item[1].instructions)
    did_not_run = {size for size, larger in doubled if size > 1 and all(repr(c) != repr(larger) for c, _ in ran)}
    return _grown_by_axes(main, did_not_run, ask, over), ran


def _grown_by_axes(main: tuple[Case, Probe], wanted: Collection[int], ask: Ask, over: Over) -> tuple[Case, Probe]:
    """The case with axes of the ``wanted`` sizes doubled, each alone, where that makes the kernel do more.

    The other tensors become as large as the indices of a sketch reach then: what is equal need not be one dimension.
    """
    places = [
        (name, n) for name, spec in tensors(main[0]).items() for n, size in enumerate(spec.shape) if size in wanted
    ]
    for name, axis in places[:_AXES]:
        case, probe = main
        size = tensors(case)[name].shape[axis]
        if over() or probe.instructions > _MOST_INSTRUCTIONS // 2:
            break
        if size in wanted:
            larger = with_axis(case, name, axis, 2 * size)
            (sketch,) = ask([larger], sketch=True)
            ran = _ran([*reaching(larger, sketch)][-1:], ask, over)
            grown = [(c, p) for c, p in ran if probe.instructions < p.instructions <= _MOST_INSTRUCTIONS]
            main = (*grown, main)[0]
    return main


def _tails(case: Case) -> Iterator[Case]:
    """All sizes cut, then one at a time, then one axis at a time."""
    large = [size for size in sorted(sizes(case)) if size >= 2 * _TAIL]
    whole = case
    for size in large:
        whole = resized(whole, size, size - _TAIL)
    if large:
        yield whole
    if len(large) > 1:
        yield from (resized(case, size, size - _TAIL) for size in large)
    yield from (
        with_axis(case, name, axis, spec.shape[axis] - _TAIL)
        for name, spec in tensors(case).items()
        for axis in range(len(spec.shape))
        if spec.shape[axis] >= 2 * _TAIL
    )


def _ran(cases: list[Case], ask: Ask, over: Over) -> list[tuple[Case, Probe]]:
    """Those of the cases that run, with what they showed; those of the time that there is."""
    found: list[tuple[Case, Probe]] = []
    for first in range(0, len(cases), _BATCH):
        if over():
            break
        batch = cases[first : first + _BATCH]
        replies = zip(batch, ask(batch), strict=True)
        found += [(case, reply) for case, reply in replies if isinstance(reply, Probe) and reply.outputs]
    whole = [(case, probe) for case, probe in found if not probe.spread]
    return whole or found
