"""New statements on their way into the tree."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from ..model import Finding
from .values import Value

Condition = tuple[str, str]
"""What the output is rewritten for: an expression that must hold, and what it is about."""


@dataclass(frozen=True)
class New:
    """One new statement: its text (4 spaces an indent level), and the condition under which it runs.

    ``as_is`` says that its text is as long as it is, ``keeps`` the name whose value it saves before a loop, or gives
    back at the start of an iteration, ``moved`` the statement that it is, in another place, ``ahead`` that it stands
    above the comments of the statement that it is written before. ``apart``: an empty line stands above it. ``asserts``
    is the condition that it asserts because the output is rewritten for it.
    """

    text: str
    guard: str = ""
    as_is: bool = False
    keeps: str = ""
    moved: ast.stmt | None = None
    ahead: bool = False
    apart: bool = False
    asserts: Condition | None = None


@dataclass(frozen=True)
class Said:
    """A finding of a module, and what it is about; ``stops`` unless Beta 2 itself refuses what it is about."""

    node: ast.AST
    finding: Finding
    stops: bool = True


WRITTEN_FOR = '"rewritten for '
"""How the messages of assertions begin that a rewrite needs; :func:`asserting` writes them, ``verify`` knows them."""


LOOPS_THAT_RUN = "loops that run"
"""What an assertion that loops run at least once is about."""


def asserting(condition: str, what: str, guard: str = "") -> New:
    """The statement that asserts what the output is rewritten for, where the source does not tell it."""
    return New(f'assert {condition}, {WRITTEN_FOR}{what}"', guard, asserts=(condition, what))


@dataclass
class Edits:
    """Everything that changes in one module, by the ``ast`` node that it replaces or adjoins."""

    replaced: dict[ast.stmt, list[New]] = field(default_factory=dict)
    before: dict[ast.stmt, list[New]] = field(default_factory=dict)
    after: dict[ast.stmt, list[New]] = field(default_factory=dict)
    prologue: dict[ast.stmt, list[New]] = field(default_factory=dict)
    comments: dict[ast.stmt, list[str]] = field(default_factory=dict)
    """Comments on lines of their own in front of statements."""
    expressions: dict[ast.AST, str] = field(default_factory=dict)
    dead: dict[ast.If, tuple[str, New]] = field(default_factory=dict)
    """Sides of conditions (``body`` or ``orelse``) that never run, and what stands there instead."""
    dropped_decorators: set[ast.expr] = field(default_factory=set)
    new_decorators: dict[ast.FunctionDef, str] = field(default_factory=dict)
    """The decorator that a function gets, above those that it has."""
    bases: dict[ast.ClassDef, str] = field(default_factory=dict)
    class_decorators: dict[ast.ClassDef, str] = field(default_factory=dict)
    dropped_parameters: set[ast.arg] = field(default_factory=set)
    parameters: dict[ast.FunctionDef, list[str]] = field(default_factory=dict)
    signatures: set[ast.FunctionDef] = field(default_factory=set)
    renamed: dict[ast.FunctionDef, str] = field(default_factory=dict)
    flattened: dict[ast.FunctionDef, ast.FunctionDef] = field(default_factory=dict)
    lifted: dict[ast.stmt, list[ast.FunctionDef]] = field(default_factory=dict)
    copied: dict[ast.stmt, list[ast.FunctionDef]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return any(vars(self).values())

    def keep_over(self, loop: ast.For, name: str, saved: str) -> None:
        """What ``name`` is before a loop, again at the start of each iteration; ``saved`` holds it."""
        self.before.setdefault(loop, []).append(New(f"{saved} = {name}", keeps=name))
        self.keep_again(loop, name, saved)

    def keep_again(self, loop: ast.For, name: str, saved: str) -> None:
        """What ``saved`` holds already is ``name`` at the start of each iteration of a loop."""
        self.prologue.setdefault(loop, []).append(New(f"{name} = {saved}", keeps=name))

    def size(self) -> int:
        """How many edits are planned."""
        return sum(len(planned) for planned in vars(self).values())


class Refuse(Exception):
    """A construct cannot be rewritten: the code of the rule, the reason, what to do by hand.

    ``result`` is what the construct gives all the same, where that is known.
    """

    def __init__(
        self,
        node: ast.AST,
        code: str,
        message: str,
        help: str,
        applicability: str = "manual",
        result: Value | None = None,
    ) -> None:
        super().__init__(message)
        self.node, self.code, self.message, self.help, self.applicability = node, code, message, help, applicability
        self.result = result


class Misplaced(Refuse):
    """A construct cannot be rewritten where it stands: as a statement of its own it might be."""
