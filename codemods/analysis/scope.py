"""One function while it is read and rewritten: what its names are, and what has been decided so far."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from typing import Any, ParamSpec, TypeVar

from ..expr import algebra
from ..expr.declarations import Alive, Pinned
from ..expr.emission import Condition, New, Refuse, asserting
from ..expr.evaluation import Evaluator
from ..expr.frames import Analysis, Branch, Clamp, FirstMatmul, Joint, Loop, Staircase, Written
from ..expr.values import Api, Declaration, Function, Hbm, Tile, Value
from ..project.draft import Draft
from ..project.own_assertions import check_own
from ..project.program import Module, numbered
from ..syntax.names import BETA2, canonical, dotted
from ..syntax.source import Source

P = ParamSpec("P")
T = TypeVar("T")


@dataclass
class Scope:
    """The function being rewritten."""

    module: Module
    function: ast.FunctionDef
    decorated: bool
    on_device: bool = False
    env: dict[str, Value] = field(default_factory=dict)
    definitions: dict[str, str] = field(default_factory=dict)
    formulas: dict[str, str] = field(default_factory=dict)
    dtypes: dict[str, str] = field(default_factory=dict)
    itemsizes: dict[str, str] = field(default_factory=dict)
    loops: tuple[Loop, ...] = ()
    out: list[New] = field(default_factory=list)
    guards: tuple[str, ...] = ()
    clamps: dict[int, Clamp] = field(default_factory=dict)
    stairs: Staircase | None = None
    assigned: Counter[str] = field(default_factory=Counter)
    told: algebra.Told = field(default_factory=algebra.Told)
    sizes: dict[str, str] = field(default_factory=dict)
    size_names: dict[tuple[str, str], str] = field(default_factory=dict)
    size_depths: dict[str, int] = field(default_factory=dict)
    interpreted: dict[ast.Call, Value | None] = field(default_factory=dict)
    unpacking: dict[ast.Call, list[tuple[Module, ast.FunctionDef, ast.Call]]] = field(default_factory=dict)
    has_loose: bool = False
    resized: dict[str, str] = field(default_factory=dict)
    psum_writes: dict[Declaration, list[Written]] = field(default_factory=dict)
    copied: dict[tuple[str, ast.stmt | None], str] = field(default_factory=dict)
    first_matmuls: dict[ast.AST, tuple[Declaration, FirstMatmul]] = field(default_factory=dict)
    branch: Branch = ()
    blocks: tuple[list[ast.stmt], ...] = ()
    current: ast.stmt | None = None
    called: dict[ast.expr, tuple[str, Value]] = field(default_factory=dict)
    given: dict[ast.expr, str] = field(default_factory=dict)
    kept: list[ast.AST] = field(default_factory=list)
    lost: dict[str, list[ast.stmt]] = field(default_factory=dict)
    direct: bool = False
    returned: Value | None = None
    outer: Scope | None = None
    nested: list[Function] = field(default_factory=list)
    dropped: dict[ast.stmt, set[str]] = field(default_factory=dict)
    pinned: list[Pinned] = field(default_factory=list)
    alive: tuple[Alive, ...] = ()
    traced_once: set[ast.For] = field(default_factory=set)
    captured: set[str] = field(default_factory=set)
    flags: dict[str, bool] = field(default_factory=dict)
    under: dict[str, dict[str, tuple[Value, Value]]] = field(default_factory=dict)
    unknown_results: set[str] = field(default_factory=set)
    none_at_first: set[str] = field(default_factory=set)
    untold: set[str] = field(default_factory=set)
    joints: list[Joint] = field(default_factory=list)
    joined: dict[str, set[str]] = field(default_factory=dict)

    @property
    def source(self) -> Source:
        return self.module.source

    @property
    def evaluator(self) -> Evaluator:
        return self.module.program.evaluator

    def attempt(self, question: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | Refuse:
        """What ``question`` answers, or why it cannot: then the function knows and emits what it did before."""
        known = self.state() | {"out": [*self.out], "guards": self.guards}
        known |= {"called": dict(self.called), "given": dict(self.given)}
        answer = self.draft.attempt(question, *args, **kwargs)
        if isinstance(answer, Refuse):
            vars(self).update(known)
        return answer

    def state(self) -> dict[str, Any]:
        """What a statement may change of what is known here, as it is now."""
        now = vars(self)
        return {name: now[name].copy() if hasattr(now[name], "copy") else now[name] for name in _CHANGED}

    @property
    def draft(self) -> Draft:
        """What the statement under way has changed."""
        return self.module.program.draft

    @property
    def block(self) -> list[ast.stmt]:
        """The statements among which the one at hand stands."""
        return self.blocks[-1]

    @property
    def loop_statements(self) -> tuple[ast.stmt, ...]:
        """The loops around the statement at hand, outermost first."""
        return tuple(loop.statement for loop in self.loops)

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
        self, node: ast.FunctionDef, parameters: dict[str, Value] | None = None, home: Module | None = None
    ) -> Analysis:
        """Rewrite another function (once) of this module or of its ``home``, given what its parameters are."""
        analysis: Analysis = self.evaluator.walk_function(home or self.module, node, parameters or {}, caller=self)
        return analysis

    def means_builtin(self, name: str) -> bool:
        """Is a name Python's own, and nothing that the function or the level of its module binds?"""
        symbols = self.module.symbols
        bound = name in self.assigned or name in self.env
        return not bound and name not in symbols.globals | set(symbols.functions) | set(symbols.imports)

    def qualified(self, node: ast.AST) -> str | None:
        """Canonical name of what an attribute chain or name refers to, through imports and local aliases."""
        chain = dotted(node)
        if chain is None:
            return None
        name, attributes = chain
        value = self.env.get(name)
        if isinstance(value, Api):
            return ".".join((value.name, *attributes))
        if value is not None:
            return None
        bound = self.module.symbols.imports.get(name)
        return canonical(".".join((bound.path, *attributes))) if bound else None

    def fresh(self, name: str) -> str:
        """A new local name: ``name``, with a number where this function (or the module) has used it."""
        chosen = self.unused(name)
        self.draft.add(self.module.names.local[self.outermost], chosen)
        self.draft.add(self.module.names.taken, chosen)
        return chosen

    def unused(self, name: str) -> str:
        """``name``, or the next one with a number that this function (or the module) has not used."""
        return numbered(name, self.module.names.local[self.outermost] | self.module.names.module_level)

    def apply(self, code: str, node: ast.AST) -> None:
        """Record that a rule is applied; raise :class:`Refuse` when it is not to be."""
        if not self.module.options.enabled(code):
            raise Refuse(node, code, *self.module.options.disabled(code))
        self.draft.put(self.module.plan.applied, code, self.module.plan.applied[code] + 1)

    def emit(self, text: str) -> None:
        self.out.append(New(text, self._guard()))

    def emit_assertion(self, condition: str, what: str) -> None:
        """Assert what the output is rewritten for where the statement at hand runs."""
        self.out.append(asserting(condition, what, self._guard()))

    def _guard(self) -> str:
        alone = len(self.guards) == 1
        return " and ".join(g if alone or " or " not in g else f"({g})" for g in self.guards)

    def constant(self, text: str) -> int | None:
        return algebra.constant(text, self.definitions)

    def equal(self, a: str, b: str) -> bool:
        return algebra.equal(a, b, self.definitions, self.told)

    def assert_equal(self, a: str, b: str, why: str) -> None:
        """The kernel asserts that two sizes are equal where the source does not tell, whatever a mask says."""
        if not self.equal(a, b):
            self.assert_that(f"{a} == {b}", why)

    def assert_that(self, condition: str, what: str) -> None:
        """The kernel asserts once what it is rewritten for, whatever a mask says: later statements rely on it."""
        check_own(self.function, self.current, condition, what)
        check = asserting(condition, what)
        if check not in self.out:
            self.out.append(check)

    def assert_all(self, conditions: Iterable[Condition]) -> None:
        for condition, what in conditions:
            self.assert_that(condition, what)

    def assume(self, condition: str, why: str) -> None:
        """Beta 2 itself refuses what the statement at hand is not rewritten for: nothing need be asserted, but said."""
        if self.current is not None:
            assumed = self.module.plan.assumed
            self.draft.put(assumed, self.current, {**assumed.get(self.current, {}), condition: why})

    def canonical(self, text: str) -> str:
        """A number as text that is the same for all its spellings."""
        return algebra.show(algebra.normal(text, self.definitions))

    def same_dtype(self, a: str | None, b: str | None) -> bool:
        """Are two data types provably the same? Names that are assigned once are looked up."""
        return a is not None and b is not None and (a == b or self.resolved_dtype(a) == self.resolved_dtype(b))

    def resolved_dtype(self, text: str) -> str:
        """What a data type under a name is, or that of a tensor under a name, as far as the source tells."""
        seen: set[str] = set()
        while text not in seen:
            seen.add(text)
            text = self.dtypes.get(text) or self._dtype_of(text) or text
        return text

    def _dtype_of(self, text: str) -> str | None:
        """What ``tile.dtype`` is, where one statement binds ``tile``."""
        name = text.removesuffix(".dtype")
        value = self.env.get(name) if name != text and self.assigned.get(name) == 1 else None
        return value.dtype if isinstance(value, Tile | Hbm) else None

    def beta2(self, qualified: str) -> str:
        """``nl.load`` as this module would write it after the imports are rewritten."""
        root, _, rest = qualified.partition(".")
        alias = self.module.alias(root) if root in BETA2 else root
        return f"{alias}.{rest}" if rest else alias

    def guard(self, conditions: tuple[str, ...]) -> None:
        """What is emitted from here on, up to the end of the mask that it belongs to, runs under ``conditions``."""
        self.guards = (*self.guards, *(c for c in conditions if c not in self.guards))


_OUTLIVES = {
    *("module", "function", "decorated", "on_device", "outer", "loops", "guards", "blocks", "branch", "flags"),
    *("out", "current", "called", "given", "interpreted", "unpacking", "kept", "nested", "captured"),
}
"""What a statement does not change, what begins anew with each, and what is true whatever becomes of it."""
_CHANGED = tuple(each.name for each in fields(Scope) if each.name not in _OUTLIVES)


def is_tile(value: Value | None) -> bool:
    return isinstance(value, Tile) and not value.blocks
