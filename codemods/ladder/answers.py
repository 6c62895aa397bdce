"""What a rule answers for one construct: edits, or why it is left."""

from __future__ import annotations

from dataclasses import dataclass

from ..syntax.drafts import Edit


@dataclass(frozen=True)
class Rewritten:
    """The edits of one construct; ``assumption`` (if any) is why a person should review them.

    ``shows``: what is rewritten shows that the file is older, because the later version refuses it.
    """

    edits: tuple[Edit, ...]
    assumption: str = ""
    shows: bool = True


@dataclass(frozen=True)
class Left:
    """Why a construct stays as it is, and what to do by hand; ``silent`` if the target runs it with another meaning."""

    message: str
    help: str
    silent: bool = False


@dataclass(frozen=True)
class Said:
    """What is said (``of_one`` and ``of_all``, with ``{}`` for their names) of one or more ``subjects``."""

    subjects: tuple[str, ...]
    of_one: str
    of_all: str

    def __str__(self) -> str:
        *first, last = self.subjects
        if not first:
            return self.of_one.format(last)
        groups = any(" and " in each for each in self.subjects)
        joined = f"{'; '.join(first)}; {last}" if groups else f"{', '.join(first)} and {last}"
        return self.of_all.format(joined)

    def merged(self, other: Said) -> Said:
        """The same of the subjects of both."""
        return Said(tuple(dict.fromkeys([*self.subjects, *other.subjects])), self.of_one, self.of_all)


def unknown(said: Said, why: str, help: str, silent: bool = False, is_note: bool = False) -> Unknown:
    """What is taken for true of the subjects of ``said``."""
    return Unknown(str(said), why, help, silent, is_note, said)


@dataclass(frozen=True)
class Unknown:
    """A fact that a rule needs is not known: it takes ``text`` for true, and ``why`` says why that matters.

    Where the target refuses what is otherwise, that is an assumption which the target checks, and a note says so; where
    it runs with another meaning (``silent``, or a change that ``differs``), it is a finding, with what to do by hand.
    ``is_note``: nothing suggests that it is otherwise, so that a note does in any case. ``said``: what is said of whom,
    where notes of one function that say the same of others become one.
    """

    text: str
    why: str
    help: str
    silent: bool = False
    is_note: bool = False
    said: Said | None = None


@dataclass(frozen=True)
class Different:
    """What the next version computes otherwise whatever the call says; ``help`` is how to live with it.

    A finding for review: ``--unsafe`` takes it that the new meaning is wanted, and a note says so.
    """

    text: str
    why: str
    help: str


Answer = Rewritten | Left | Unknown | Different | None


def rewritten(*edits: Edit | None, assumption: str = "", otherwise: Left | None = None) -> Answer:
    """``edits``, or ``otherwise`` where one of them cannot be made."""
    if any(edit is None for edit in edits):
        return otherwise or Left(
            "a comment stands where the rewrite would cut", "move the comment, or write it by hand"
        )
    return Rewritten(tuple(edit for edit in edits if edit is not None), assumption)
