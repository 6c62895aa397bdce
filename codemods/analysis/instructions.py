"""An instruction of Beta 2 before it is written: what it computes, not yet where to."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..expr import tables
from ..expr.emission import Condition
from ..expr.frames import Clamp
from ..expr.operands import Operand
from .scope import Scope


@dataclass(frozen=True)
class Part:
    """What a mask leaves: the bounds of dimensions, and the conditions under which that is anything."""

    clamps: Mapping[int, Clamp]
    guards: tuple[str, ...]


@dataclass
class Instruction:
    """A Beta 2 instruction without its destination.

    ``dims`` and ``dtype`` are what Beta 1's result would have (``like`` names a tensor of the same shape where the
    rank is unknown), ``space`` where it would live. ``explicit`` is true when the call said ``dtype=``. ``cut`` tells
    whether a mask's upper bounds cut all operands and the destination position by position. ``through`` names an
    operand that the engine cannot read where it is, and that is copied into the destination first. ``first`` is an
    instruction with the same destination that comes before, ``shaped`` how the destination must be written.
    ``support`` marks a function that the rewrite adds: without ``cut`` it fills a whole tile. ``precut`` arguments are
    what a mask leaves of them already. ``part`` is what a mask leaves of a place that ``first`` writes whole. A result
    of unknown rank may be a column: ``perhaps_column``. ``ranked`` gives the instruction with the ranks asserted on
    which its shape depends. ``optional`` is a type that the result has
    instead of its own ``dtype``, unless it is ``None``. ``conditions`` must hold for ``dtype``: who makes a tile of it
    asserts them. ``stays`` writes it as the function of ``nl`` that it was, of the texts of its destination and its
    source.
    """

    function: str
    arguments: list[tuple[str, Operand | str]]
    dims: tuple[str, ...] | None
    dtype: str | None
    space: str = "sbuf"
    like: str = ""
    explicit: bool = False
    cut: bool = True
    through: str = ""
    first: Instruction | None = None
    shaped: Callable[[Scope, ast.expr, Operand], Operand] | None = None
    support: bool = False
    precut: bool = False
    part: Part | None = None
    perhaps_column: bool = False
    ranked: Callable[[], Instruction] | None = None
    optional: str = ""
    conditions: tuple[Condition, ...] = ()
    stays: Callable[[str, str], str] | None = None


Handler = Callable[[Any], Instruction]
"""Lowers a call (:class:`~.compute.Call`)."""
HANDLERS: dict[str, tuple[str, Handler]] = {}
"""Beta 1 name -> (rule code, how it is lowered)."""


def lowers(code: str, *names: str) -> Callable[[Handler], Handler]:
    """Register a handler for calls of the Beta 1 functions ``names``."""

    def register(handler: Handler) -> Handler:
        for name in names:
            HANDLERS[name] = (code, handler)
        return handler

    return register


Command = Callable[[Any, tuple[str, ...]], tuple[Operand, Instruction]]
COMMANDS: dict[str, tuple[str, tuple[str, ...], Command]] = {}
"""Beta 1 functions that write to an operand: name -> (rule code, Beta 2's other arguments, how it is lowered)."""


def commands(code: str, functions: dict[str, tuple[str, ...]]) -> Callable[[Command], Command]:
    """Register a handler for statements that call one of ``functions``."""

    def register(handler: Command) -> Command:
        for name, order in functions.items():
            COMMANDS[name] = (code, order, handler)
        return handler

    return register


Keeper = Callable[[Any], Operand | None]
KEEPERS: dict[str, Keeper] = {}
"""Beta 1 name -> the call as it stays, and the tile that it gives; ``None`` where it becomes instructions."""


def keeps(*names: str) -> Callable[[Keeper], Keeper]:
    """Register what tells whether a call of the functions ``names`` stays."""

    def register(keeper: Keeper) -> Keeper:
        KEEPERS.update(dict.fromkeys(names, keeper))
        return keeper

    return register


def has_again(scope: Scope, name: str) -> bool:
    """Does every version that the output serves have a function of Beta 1 again?"""
    return tables.has_again(scope.module.options, name)
