"""What one statement has changed so far, so that a refusal takes all of it back (design, section 3, point 3).

The statement under way has the draft of its program (``program.draft``). A function that it calls and that is
read for the first time has drafts of its own: what was decided about it stays, whatever becomes of the call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from ..expr.emission import Refuse

P = ParamSpec("P")
T = TypeVar("T")
K = TypeVar("K")


class Draft:
    """Changes in the order in which they were made, each with what takes it back."""

    def __init__(self) -> None:
        self._inverses: list[Callable[[], object]] = []

    def add(self, items: set[T], item: T) -> None:
        if item not in items:
            items.add(item)
            self._inverses.append(lambda: items.discard(item))

    def append(self, items: list[T], item: T) -> None:
        items.append(item)
        self._inverses.append(lambda: items.remove(item))

    def put(self, table: dict[K, T], key: K, value: T) -> None:
        if key in table:
            old = table[key]
            self._inverses.append(lambda: table.__setitem__(key, old))
        else:
            self._inverses.append(lambda: table.pop(key, None))
        table[key] = value

    def when_refused(self, take_back: Callable[[], object]) -> None:
        """``take_back`` takes back what was done."""
        self._inverses.append(take_back)

    def keep(self) -> None:
        """What was done up to here stays: statements that rely on it were rewritten."""
        self._inverses.clear()

    def attempt(self, question: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | Refuse:
        """What ``question`` answers, or why it cannot: then all that it has changed is taken back, the last first.

        This is the one place where a refusal becomes a value: whoever decides by it, reports it or says more of it
        asks here.
        """
        mark = self.mark()
        try:
            return question(*args, **kwargs)
        except Refuse as refusal:
            self.drop(mark)
            return refusal.with_traceback(None)  # which holds all frames, and their trees

    def mark(self) -> int:
        """How much was done up to here: :meth:`drop` takes back what follows."""
        return len(self._inverses)

    def drop(self, mark: int) -> None:
        """Take everything back that was done since ``mark``, the last change first."""
        while len(self._inverses) > mark:
            self._inverses.pop()()
