"""One function while it is read and rewritten: what its names are, and what has been decided so far."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import ParamSpec, TypeVar

from ..expr import algebra
from ..expr.emission import Condition, New, Refuse, asserting
from ..expr.evaluation import Evaluator
from ..expr.frames import Analysis, Branch, Loop
from ..expr.values import Api, Function, Hbm, Tile, Value
from ..project.draft import Draft
from ..project.own_assertions import check_own
from ..project.program import Module
from ..syntax.names import BETA2, canonical, dotted
from ..syntax.source import Source
from .facts import Facts, Masks, Memory, Names, Sizes, Summary, Tables

P = ParamSpec("P")
T = TypeVar("T")


@dataclass
class Place:
    """Where the statement at hand stands: its loops, sides of conditions and blocks, outermost first."""

    statement: ast.stmt | None = None
    loops: tuple[Loop, ...] = ()
    branch: Branch = ()
    blocks: tuple[list[ast.stmt], ...] = ()


@dataclass
class Output(Tables):
    """What the statement at hand becomes: lines, under the guards of its masks.

    ``called``: results of calls that are lines already, ``given``: what an argument is instead of its text.
    """

    lines: list[New] = field(default_factory=list)
    guards: tuple[str, ...] = ()
    called: dict[ast.expr, tuple[str, Value]] = field(default_factory=dict)
    given: dict[ast.expr, str] = field(default_factory=dict)


@dataclass
class Scope:
    """The function being rewritten: what is known of it (:class:`.facts.Facts`), the statement at hand, what is left.

    ``flags``: parameters whose calls all tell one truth value. ``interpreted``, ``unpacking``: calls that give vectors.
    ``kept``: what is left alone. ``nested``: the functions in it, ``captured``: the names that these read.
    """

    module: Module
    function: ast.FunctionDef
    decorated: bool
    on_device: bool = False
    outer: Scope | None = None
    flags: dict[str, bool] = field(default_factory=dict)
    names: Names = field(default_factory=Names)
    sizes: Sizes = field(default_factory=Sizes)
    masks: Masks = field(default_factory=Masks)
    memory: Memory = field(default_factory=Memory)
    summary: Summary = field(default_factory=Summary)
    place: Place = field(default_factory=Place)
    output: Output = field(default_factory=Output)
    interpreted: dict[ast.Call, Value | None] = field(default_factory=dict)
    unpacking: dict[ast.Call, list[tuple[Module, ast.FunctionDef, ast.Call]]] = field(default_factory=dict)
    kept: list[ast.AST] = field(default_factory=list)
    nested: list[Function] = field(default_factory=list)
    captured: set[str] = field(default_factory=set)

    @property
    def source(self) -> Source:
        return self.module.source

    @property
    def evaluator(self) -> Evaluator:
        return self.module.program.evaluator

    def attempt(self, question: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | Refuse:
        """What ``question`` answers, or why it cannot: then the function knows and emits what it did before."""
        facts, output = self.facts(), self.output.copy()
        answer = self.draft.attempt(question, *args, **kwargs)
        if isinstance(answer, Refuse):
            self.output = output
            self.restore(facts)
        return answer

    def facts(self) -> Facts:
        """What is known here, as it is now: a statement may change it."""
        return Facts(self.names, self.sizes, self.masks, self.memory, self.summary).copy()

    def restore(self, facts: Facts) -> None:
        """What is known here is what it was."""
        vars(self).update(vars(facts))

    @property
    def draft(self) -> Draft:
        """What the statement under way has changed."""
        return self.module.program.draft

    @property
    def block(self) -> list[ast.stmt]:
        """The statements among which the one at hand stands."""
        return self.place.blocks[-1]

    @property
    def loop_statements(self) -> tuple[ast.stmt, ...]:
        """The loops around the statement at hand, outermost first."""
        return tuple(loop.statement for loop in self.place.loops)

    @property
    def nl(self) -> str:
        return self.module.alias("nl")

    @property
    def nisa(self) -> str:
        return self.module.alias("nisa")

    @property
    def outermost(self) -> ast.FunctionDef:
        """The module-level function that this one stands in."""
        return self.outer.outermost if self.outer is not None else self.function

    def walk_function(
        self, node: ast.FunctionDef, parameters: dict[str, Value], home: Module | None = None
    ) -> Analysis:
        """Rewrite another function (once) of this module or of its ``home``, given what its parameters are."""
        analysis: Analysis = self.evaluator.walk_function(home or self.module, node, parameters, caller=self)
        return analysis

    def walk_within(self, node: ast.FunctionDef, parameters: dict[str, Value] | None = None) -> None:
        """Rewrite a function (once) as a part of what this one becomes."""
        self.evaluator.walk_function(self.module, node, parameters or {}, caller=self, within=True)

    def means_builtin(self, name: str) -> bool:
        """Is a name Python's own, and nothing that the function or the level of its module binds?"""
        symbols = self.module.symbols
        bound = name in self.names.assigned or name in self.names.env
        return not bound and name not in symbols.globals | set(symbols.functions) | set(symbols.imports)

    def qualified(self, node: ast.AST) -> str | None:
        """Canonical name of what an attribute chain or name refers to, through imports and local aliases."""
        chain = dotted(node)
        if chain is None:
            return None
        name, attributes = chain
        value = self.names.env.get(name)
        if isinstance(value, Api):
            return ".".join((value.name, *attributes))
        if value is not None:
            return None
        bound = self.module.symbols.imports.get(name)
        return canonical(".".join((bound.path, *attributes))) if bound else None

    def fresh(self, name: str) -> str:
        """A new local name: ``name``, with a number where this function (or the module) has used it."""
        return self.module.fresh_in(self.outermost, name)

    def unused(self, name: str) -> str:
        """``name``, or the next one with a number that this function (or the module) has not used."""
        return self.module.unused_in(self.outermost, name)

    def apply(self, code: str, node: ast.AST) -> None:
        """Record that a rule is applied; raise :class:`Refuse` when it is not to be."""
        if not self.module.options.enabled(code):
            raise Refuse(node, code, *self.module.options.disabled(code))
        self.draft.put(self.module.plan.applied, code, self.module.plan.applied[code] + 1)

    def emit(self, text: str) -> None:
        self.output.lines.append(New(text, self._guard()))

    def emit_assertion(self, condition: str, what: str) -> None:
        """Assert what the output is rewritten for where the statement at hand runs."""
        self.output.lines.append(asserting(condition, what, self._guard()))

    def _guard(self) -> str:
        alone = len(self.output.guards) == 1
        return " and ".join(g if alone or " or " not in g else f"({g})" for g in self.output.guards)

    def constant(self, text: str) -> int | None:
        return algebra.constant(text, self.sizes.definitions)

    def equal(self, a: str, b: str) -> bool:
        return algebra.equal(a, b, self.sizes.definitions, self.sizes.told)

    def assert_equal(self, a: str, b: str, why: str) -> None:
        """The kernel asserts that two sizes are equal where the source does not tell, whatever a mask says."""
        if not self.equal(a, b):
            self.assert_that(f"{a} == {b}", why)

    def assert_that(self, condition: str, what: str) -> None:
        """The kernel asserts once what it is rewritten for, whatever a mask says: later statements rely on it."""
        check_own(self.function, self.place.statement, condition, what)
        check = asserting(condition, what)
        if check not in self.output.lines:
            self.output.lines.append(check)

    def assert_all(self, conditions: Iterable[Condition]) -> None:
        for condition, what in conditions:
            self.assert_that(condition, what)

    def assume(self, condition: str, why: str) -> None:
        """Beta 2 itself refuses what the statement at hand is not rewritten for: nothing need be asserted, but said."""
        if self.place.statement is not None:
            assumed = self.module.plan.assumed
            self.draft.put(assumed, self.place.statement, {**assumed.get(self.place.statement, {}), condition: why})

    def canonical(self, text: str) -> str:
        """A number as text that is the same for all its spellings."""
        return algebra.show(algebra.normal(text, self.sizes.definitions))

    def same_dtype(self, a: str | None, b: str | None) -> bool:
        """Are two data types provably the same? Names that are assigned once are looked up."""
        return a is not None and b is not None and (a == b or self.resolved_dtype(a) == self.resolved_dtype(b))

    def resolved_dtype(self, text: str) -> str:
        """What a data type under a name is, or that of a tensor under a name, as far as the source tells."""
        seen: set[str] = set()
        while text not in seen:
            seen.add(text)
            text = self.names.dtypes.get(text) or self._dtype_of(text) or text
        return text

    def _dtype_of(self, text: str) -> str | None:
        """What ``tile.dtype`` is, where one statement binds ``tile``."""
        name = text.removesuffix(".dtype")
        value = self.names.env.get(name) if name != text and self.names.assigned.get(name) == 1 else None
        return value.dtype if isinstance(value, Tile | Hbm) else None

    def beta2(self, qualified: str) -> str:
        """``nl.load`` as this module would write it after the imports are rewritten."""
        root, _, rest = qualified.partition(".")
        alias = self.module.alias(root) if root in BETA2 else root
        return f"{alias}.{rest}" if rest else alias

    def guard(self, conditions: tuple[str, ...]) -> None:
        """What is emitted from here on, up to the end of the mask that it belongs to, runs under ``conditions``."""
        self.output.guards = (*self.output.guards, *(c for c in conditions if c not in self.output.guards))


def is_tile(value: Value | None) -> bool:
    return isinstance(value, Tile) and not value.blocks
