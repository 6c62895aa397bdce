"""What running a Beta 1 kernel shows of the functions that it enters: a worker sends it, the rules read it.

Only the structure is kept: sizes are names in a kernel, and what one case has for them says nothing of the next.
"""

from __future__ import annotations

from dataclasses import dataclass

ON_CHIP = ("sbuf", "psum")


@dataclass(frozen=True, order=True)
class Seen:
    """What a parameter was in a call.

    ``kind`` is ``hbm``, ``sbuf`` or ``psum`` for a tensor, ``blocks`` for one with block dimensions that are not
    indexed yet, ``dtype``, ``none``, or ``other``. Of a tensor, ``ones`` says for each dimension whether its size was
    1, ``part`` whether it was anything but a whole tensor that no block dimensions belong to. ``lists``: in how many
    lists, one in the other, the tensors were, all of them alike.
    """

    kind: str
    ones: tuple[bool, ...] = ()
    part: bool = False
    lists: int = 0

    @property
    def is_tensor(self) -> bool:
        return self.kind == "hbm" or self.kind in ON_CHIP


@dataclass(frozen=True, order=True)
class SeenFunction:
    """A function that was entered: its file, its name in it (``Class.method``, ``outer.inner``), its parameters.

    A parameter has what it was in one call or another, each once. ``cases`` names the cases that entered it.
    """

    file: str
    name: str
    parameters: tuple[tuple[str, tuple[Seen, ...]], ...]
    cases: tuple[str, ...] = ()
