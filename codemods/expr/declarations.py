"""On-chip tensors that a function is to declare."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from .emission import New
from .values import Allocator


@dataclass(frozen=True)
class Plan:
    """One on-chip tensor that is to be declared: sizes, type and initial value as source text, and its buffer.

    ``index`` names the block indices in the loops that fill a list of its blocks.
    """

    name: str
    node: ast.Call
    statement: ast.stmt
    blocks: tuple[str, ...]
    dims: tuple[str, ...]
    dtype: str
    space: str
    buffer: str | Allocator
    fill: str | None
    label: str
    index: tuple[str, ...]
    like: str


@dataclass(frozen=True)
class Alive:
    """A tensor all of whose blocks are alive from statement ``first`` of ``block`` to statement ``last``.

    ``needed`` are the bytes of each partition of ``space`` that they take at least.
    """

    name: str
    space: str
    block: Sequence[ast.stmt]
    first: int
    last: int
    needed: int


@dataclass(frozen=True, eq=False)
class Pinned:
    """One pinned tensor of a function, and the lines that declare it with its address.

    ``style`` is what its blocks became (empty without any), ``loop`` the loop that declares it. ``base`` and
    ``reserved`` are its first byte and the bytes of all its tiles, ``dims`` the shape of one tile, ``tiles`` how many
    there are in each block dimension. ``turns`` is how many tiles the iterations of ``loop`` take turns on.
    ``unsuited`` says why no manager can place it. A ``ring`` is tiles that are declared apart from the blocks, which
    take them in turns; ``indexed`` says that every use takes one of them by its number: no list of blocks is needed.
    """

    plan: Plan
    style: str
    loop: ast.For | None
    written: tuple[New, ...]
    base: str
    partition: str
    reserved: str
    dims: tuple[str, ...]
    tiles: tuple[str, ...]
    turns: str
    unsuited: str
    itemsize: str
    in_loop: bool
    ring: bool
    indexed: bool
