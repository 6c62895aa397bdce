"""What ``SbufManager`` does with memory that no kernel asks it for, noted for the hazard check.

The manager is the vendor's, flaws included (``reference/beta2.md`` section 3.3). The ledger watches one manager of a
running kernel and writes down each time that

* a stack tensor reaches into a heap tensor, or the other way round (room is tested before the address is aligned);
* a section lies over a tensor of a scope that was closed in an earlier section of the same round (sections start at the
  stack pointer, which knows nothing of closed scopes);
* the heap takes more bytes for a tensor than it gets back (it is rounded down to four bytes at both ends, and aligned
  at one).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from .. import session
from ..beta2.tensor import NkiTensor


@dataclass(frozen=True)
class _Held:
    """A tensor with its bytes; ``taken`` is how far it moved the heap."""

    tensor: NkiTensor
    label: str
    start: int
    end: int
    taken: int = 0

    def shares(self, other: _Held) -> bool:
        """Do the two have a byte of a partition in common?"""
        a, b = self.tensor.alloc, other.tensor.alloc
        first, second = a.partition or 0, b.partition or 0
        same_rows = first < second + b.partitions and second < first + a.partitions
        return same_rows and self.start < other.end and other.start < self.end


@dataclass(eq=False)
class _Level:
    """An open scope: its own tensors of this round, and those of scopes closed in it, by section."""

    own: list[_Held] = field(default_factory=list)
    closed_now: list[_Held] = field(default_factory=list)
    closed_before: list[_Held] = field(default_factory=list)


class Ledger:
    """Follows one manager. Outside of a kernel, and where the compiler places tensors, there is nothing to follow."""

    def __init__(self, automatic: bool) -> None:
        self._machine = session.current().machine if session.in_kernel() and not automatic else None
        self._levels: list[_Level] = []
        self._heap: list[_Held] = []

    def opened(self) -> None:
        self._levels.append(_Level())

    def closed(self) -> None:
        level = self._levels.pop()
        if self._levels:
            self._levels[-1].closed_now += [*level.own, *level.closed_now, *level.closed_before]

    def next_section(self, is_new_round: bool) -> None:
        level = self._levels[-1]
        level.closed_before = [] if is_new_round else [*level.closed_before, *level.closed_now]
        level.closed_now = []
        if is_new_round:
            level.own = []

    def stacked(self, tensor: NkiTensor, label: str, start: int, nbytes: int) -> None:
        if self._machine is None:
            return
        held = _Held(tensor, label, start, start + nbytes)
        self._note("room", self._heap, held, "reaches into the heap tensor")
        closed = [other for level in self._levels for other in level.closed_before]
        self._note("section", closed, held, "lies over a tensor of a scope that an earlier section closed:")
        self._levels[-1].own.append(held)

    def heaped(self, tensor: NkiTensor, label: str, start: int, nbytes: int, taken: int) -> None:
        """``taken``: by how many bytes the heap grew."""
        if self._machine is None:
            return
        held = _Held(tensor, label, start, start + nbytes, taken)
        self._note(
            "room", [other for level in self._levels for other in level.own], held, "reaches into the stack tensor"
        )
        self._heap.append(held)

    def popped(self, returned: int) -> None:
        """``returned``: by how many bytes the heap shrank."""
        if self._machine is None:
            return
        held = self._heap.pop()
        if held.taken > returned:
            uid = held.tensor.alloc.uid
            text = f"'{held.label}' took {held.taken} bytes of the heap and gave back {returned}"
            self._machine.flaws.append(("leak", uid, self._heap[-1].tensor.alloc.uid if self._heap else uid, text))

    def _note(self, kind: str, others: Iterable[_Held], held: _Held, what: str) -> None:
        for other in others:
            if self._machine is not None and held.shares(other):
                text = (
                    f"SbufManager: '{held.label}' at bytes {held.start}-{held.end - 1} {what} "
                    f"'{other.label}' at bytes {other.start}-{other.end - 1}"
                )
                self._machine.flaws.append((kind, other.tensor.alloc.uid, held.tensor.alloc.uid, text))
