"""What is known of a function where a statement of it is read: a value, taken before and given back by who is refused.

Its parts are tables that analysis asks and a statement adds to. A copy of all of them is what stood before it.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from ..expr import algebra
from ..expr.declarations import Alive, Pinned
from ..expr.frames import Clamp, FirstMatmul, Joint, Staircase, Written
from ..expr.values import Declaration, Value

T = TypeVar("T", bound="Tables")


class Tables:
    """Tables, and values that nobody changes in place."""

    def copy(self: T) -> T:
        """The same in tables of their own."""
        other = object.__new__(type(self))
        vars(other).update({n: v.copy() if hasattr(v, "copy") else v for n, v in vars(self).items()})
        return other


@dataclass
class Names(Tables):
    """What names stand for, by name.

    ``env``: their values. ``dtypes``: the data types that they are. ``assigned``: how many statements bind them.
    ``lost``: the block in which a statement that was left alone bound them. ``copied``: the tile of its own that a name
    got for a statement. ``joints`` and ``joined``: conditions behind which a name is one of several, and those.
    ``under``: what names are on the side of a condition, and behind it. ``unknown_results``, ``none_at_first``: of
    loops, and before them. ``untold``: parameters of which no caller tells what they are.
    """

    env: dict[str, Value] = field(default_factory=dict)
    dtypes: dict[str, str] = field(default_factory=dict)
    assigned: Counter[str] = field(default_factory=Counter)
    lost: dict[str, list[ast.stmt]] = field(default_factory=dict)
    copied: dict[tuple[str, ast.stmt | None], str] = field(default_factory=dict)
    joints: list[Joint] = field(default_factory=list)
    joined: dict[str, set[str]] = field(default_factory=dict)
    under: dict[str, dict[str, tuple[Value, Value]]] = field(default_factory=dict)
    unknown_results: set[str] = field(default_factory=set)
    none_at_first: set[str] = field(default_factory=set)
    untold: set[str] = field(default_factory=set)

    def are_fixed(self, names: Iterable[str]) -> bool:
        """Does one statement at most bind each of ``names``, so that none of them changes?"""
        return all(self.assigned[name] <= 1 for name in names)


@dataclass
class Sizes(Tables):
    """What numbers are, and what sizes are called: those of tensors, of vectors, and of data types.

    ``definitions``: the text of a name that is bound once. ``formulas``: that of one that is so up to here. ``told``:
    what the function asserts. ``named``: the name that a size has, by its formula; ``hinted``: by what it is called
    like, too; ``depths``: the depth of the block that computes it. ``resized``: the name of the size of a vector that
    has several. ``itemsizes``: the name of the bytes of an element, by data type.
    """

    definitions: dict[str, str] = field(default_factory=dict)
    formulas: dict[str, str] = field(default_factory=dict)
    told: algebra.Told = field(default_factory=algebra.Told)
    named: dict[str, str] = field(default_factory=dict)
    hinted: dict[tuple[str, str], str] = field(default_factory=dict)
    depths: dict[str, int] = field(default_factory=dict)
    resized: dict[str, str] = field(default_factory=dict)
    itemsizes: dict[str, str] = field(default_factory=dict)


@dataclass
class Masks(Tables):
    """How the mask at hand cuts the iteration space: ``clamps``, by axis, ``stairs``, where two axes are cut together.

    ``has_loose``: does it cut a vector whose dimensions may be fewer?
    """

    clamps: dict[int, Clamp] = field(default_factory=dict)
    stairs: Staircase | None = None
    has_loose: bool = False


@dataclass
class Memory(Tables):
    """What is where on the chip, and who wrote it.

    ``direct``: does the function pin its tiles? ``pinned``: those that it has. ``alive``: tiles, and the blocks that
    need them. ``psum_writes``: what has been written to a PSUM tensor, ``first_matmuls``: the first that fills a tile.
    """

    direct: bool = False
    pinned: list[Pinned] = field(default_factory=list)
    alive: tuple[Alive, ...] = ()
    psum_writes: dict[Declaration, list[Written]] = field(default_factory=dict)
    first_matmuls: dict[ast.AST, tuple[Declaration, FirstMatmul]] = field(default_factory=dict)


@dataclass
class Summary(Tables):
    """What the function is as a whole, as far as it has been read.

    ``returned``: its result. ``dropped``: statements that need not be written, with the names that they bind.
    ``traced_once``: the loops of which Beta 1 traces the body once.
    """

    returned: Value | None = None
    dropped: dict[ast.stmt, set[str]] = field(default_factory=dict)
    traced_once: set[ast.For] = field(default_factory=set)


@dataclass(frozen=True)
class Facts:
    """All that a statement may add to, and what it is refused with takes back."""

    names: Names
    sizes: Sizes
    masks: Masks
    memory: Memory
    summary: Summary

    def copy(self) -> Facts:
        """The same in tables of their own."""
        return Facts(*(part.copy() for part in vars(self).values()))
