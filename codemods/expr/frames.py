"""What the analysis of one function holds: loops, masks that cut its iterations, what it writes to PSUM, its result."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from .values import Axis, Value


@dataclass(frozen=True)
class Side:
    """One side of a condition (``number`` is negative for the other one), or the body of a loop that may not run.

    ``loops`` is how many loops stand around it.
    """

    number: int
    loops: int

    @classmethod
    def of(cls, statement: ast.stmt, loops: int) -> Side:
        """The side where the condition of a statement holds."""
        return cls(statement.lineno * 1000 + statement.col_offset + 1, loops)

    @property
    def other(self) -> Side:
        return Side(-self.number, self.loops)


Branch = tuple[Side, ...]
"""The sides of conditions that a statement stands on, outermost first."""


@dataclass(frozen=True)
class Part:
    """One position of what an instruction writes: a block index, or ``count`` elements from ``start``."""

    start: str
    count: str


@dataclass(frozen=True)
class Written:
    """One write into a PSUM tensor: by a matmul or not, and whether it adds to what is there.

    ``blocks`` are the block indices of what is written, outermost first (``None``: not known), ``part`` these and what
    is written of the block, where that is known; ``ranges`` the first value and the end of each loop variable in the
    indices. ``loops`` are those around that keep the tile, outermost first.
    ``whole``: all of a tile. ``fresh``: of one that is declared again for it. ``led``: a matmul has certainly written
    there first. ``ended`` says where the tile was declared again since: the branch, and the loops.
    """

    matmul: bool
    branch: Branch
    adds: bool = False
    blocks: tuple[str | None, ...] = ()
    part: tuple[Part, ...] | None = None
    ranges: Mapping[str, tuple[str, str]] = field(default_factory=dict, hash=False)
    loops: tuple[ast.stmt, ...] = ()
    whole: bool = False
    fresh: bool = False
    led: bool = False
    ended: tuple[tuple[Branch, tuple[ast.stmt, ...]], ...] = ()


@dataclass(frozen=True)
class FirstMatmul:
    """The first statement that writes a matmul into a whole tile, and of which block: its index in each dimension.

    ``sizes`` are the numbers of blocks. All are source text.
    """

    statement: ast.stmt
    blocks: tuple[str, ...]
    sizes: tuple[str, ...]


Groups = dict[str, tuple[Written, ...]]
"""What a function writes into PSUM tiles that are not its own, by the name of its parameter, or of what it captured."""


@dataclass(frozen=True)
class Analysis:
    """A function that was walked: the kinds of its parameters then, and of its result, and what it writes to PSUM."""

    parameters: dict[str, Value]
    returned: Value | None
    groups: Groups = field(default_factory=dict)


@dataclass(frozen=True)
class Loop:
    """An enclosing loop: its variable, whether Beta 1 traced its body only once, and whether it runs on the device.

    ``left`` is what names are where a ``break`` or ``continue`` leaves the body.
    """

    variable: str
    statement: ast.For | ast.While | ast.With
    traced_once: bool
    dynamic: bool = False
    left: list[dict[str, Value]] = field(default_factory=list, compare=False)


@dataclass(frozen=True)
class Clamp:
    """A mask cuts one position of the iteration space: ``size`` (a name) elements from ``start`` on are left."""

    axis: Axis
    position: int
    ndim: int
    size: str
    loose: bool = False
    start: str = "0"


@dataclass(frozen=True)
class Joint:
    """What new names are at the ends of the branches of a condition, by name."""

    statement: ast.If
    then: dict[str, str]
    otherwise: dict[str, str]


@dataclass(frozen=True)
class Staircase:
    """``full`` whole rows, ``rest`` elements of the next one, ``some`` rows with an element (names of sizes)."""

    rows: Axis
    columns: Axis
    full: str
    rest: str
    some: str

    @property
    def clamp(self) -> Clamp:
        """All rows that have an element."""
        return Clamp(self.rows, 0, 2, self.some)
