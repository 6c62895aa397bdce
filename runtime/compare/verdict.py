"""Verdicts. *Equal*, *different*, *undecided* and *error* are never folded into one another."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

LEVELS = ("layout", "operands", "numbers")


class Verdict(str, Enum):
    """What a comparison found.

    ``UNDECIDED``: the emulator does not model a construct. ``ERROR``: the kernel or its case is broken.
    """

    EQUAL = "equal"
    DIFFERENT = "different"
    UNDECIDED = "undecided"
    ERROR = "error"


def worst(verdicts: list[Verdict]) -> Verdict:
    """The one verdict that stands for all: error before undecided before different before equal."""
    order = (Verdict.ERROR, Verdict.UNDECIDED, Verdict.DIFFERENT, Verdict.EQUAL)
    return next((verdict for verdict in order if verdict in verdicts), Verdict.EQUAL)


@dataclass(frozen=True)
class Place:
    """A line of the user's source, and what was found there (an address, an operand, a number).

    ``version`` tells a version of the file that is not the one on disk, ``source`` is the text of the line; both are
    empty where they are not known.
    """

    file: str
    line: int
    what: str
    version: str = ""
    source: str = ""


@dataclass(frozen=True)
class Difference:
    """One divergence: what differs, and both sides of it (``None`` where a side has nothing).

    ``maps`` are excerpts of the address maps before and after, where an address differs.
    """

    message: str
    before: Place | None = None
    after: Place | None = None
    maps: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())


@dataclass(frozen=True)
class Permitted:
    """A difference that a rewriting rule declares: instructions ``op`` that only the new kernel has, and why."""

    op: str
    reason: str


@dataclass(frozen=True)
class Inexact:
    """That divisions may have become a reciprocal and a multiplication, and outputs be ``ulps`` apart because of it.

    ``by`` says who declares it, for the report: a rule, an option, a case. ``of_quotients``: does it hold of the
    quotients themselves, so that what is computed from them may be further apart?
    """

    ulps: int
    by: str
    of_quotients: bool = False


@dataclass(frozen=True)
class LevelVerdict:
    """The verdict of one level.

    ``summary`` is one sentence. ``differences`` are the first ones, ``count`` is how many were found. ``notes`` are
    facts that do not change the verdict: permitted differences, spellings that were recognised as the same. ``ulps`` is
    how far apart numbers are that count as equal because that was declared.
    """

    level: str
    verdict: Verdict
    summary: str
    differences: tuple[Difference, ...] = ()
    count: int = 0
    notes: tuple[str, ...] = ()
    ulps: int = 0


MAX_DIFFERENCES = 5


def level_verdict(
    level: str, differences: list[Difference], summary: str, notes: list[str] | None = None
) -> LevelVerdict:
    """*Equal* without differences, else *different* with the first of them."""
    verdict = Verdict.DIFFERENT if differences else Verdict.EQUAL
    shown = tuple(differences[:MAX_DIFFERENCES])
    return LevelVerdict(level, verdict, summary, shown, len(differences), tuple(notes or ()))
