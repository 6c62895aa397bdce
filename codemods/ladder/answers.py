"""What a rule answers for one construct: edits, or why it is left."""

from __future__ import annotations

from dataclasses import dataclass

from ..drafts import Edit


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


Answer = Rewritten | Left | None


def rewritten(*edits: Edit | None, assumption: str = "", otherwise: Left | None = None) -> Answer:
    """``edits``, or ``otherwise`` where one of them cannot be made."""
    if any(edit is None for edit in edits):
        return otherwise or Left(
            "a comment stands where the rewrite would cut", "move the comment, or write it by hand"
        )
    return Rewritten(tuple(edit for edit in edits if edit is not None), assumption)
