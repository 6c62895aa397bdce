"""Parameters that functions write to: tensors in HBM that a kernel stores into, itself or through what it calls.

Beta 2 gives back what a kernel returns, and nothing else: a store into a parameter is lost, and the launch sees zeros,
or what was there before. What a name stands for is followed through other names, parts, views, branches, containers and
the functions of the program.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..syntax.node_index import walk
from ..syntax.nodes import by_parameter, named_parameters
from .kernel_code import is_traced, own_nodes

if TYPE_CHECKING:
    from .program import Module, Program

Origins = frozenset[str]
"""The parameters that a value may be, or be a part of."""

_NONE: Origins = frozenset()
_FIRST = {"nl.store", "nl.atomic_rmw", "nisa.dma_copy", "nisa.dma_start", "nisa.tensor_copy_dynamic_dst"}
"""Functions whose first argument is written to."""
_DESTINATIONS = {"dst", "dsts", "out", "reduce_res"}
_DISPLAYS = (ast.List, ast.Tuple, ast.Dict, ast.ListComp, ast.DictComp)
_COLLECTING = {"zip", "enumerate", "reversed", "list", "tuple", "dict", "sorted", "iter", "next"}
_GROWING = {"append", "extend", "insert", "update", "setdefault", "add"}


@dataclass(frozen=True)
class Write:
    """A statement that writes to a parameter of the function that it stands in."""

    statement: ast.stmt
    parameter: str


@dataclass
class Summary:
    """What a function writes to, the parameters that it may return, and those that it hands on to code out of sight."""

    writes: list[Write] = field(default_factory=list)
    returns: Origins = _NONE
    hidden: list[Write] = field(default_factory=list)

    @property
    def parameters(self) -> set[str]:
        return {write.parameter for write in self.writes}


class Summaries:
    """The summaries of a program's functions, each read once."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._known: dict[ast.FunctionDef, Summary] = {}

    def of(self, module: Module, function: ast.FunctionDef) -> Summary:
        """The summary of a function; that of one which calls itself holds what was read so far."""
        if function not in self._known:
            summary = self._known[function] = Summary()
            _Reading(self, module, function, summary).read()
        return self._known[function]


class _Reading:
    """One function: ``env`` says which parameters each name may stand for, where the reading is."""

    def __init__(self, known: Summaries, module: Module, function: ast.FunctionDef, summary: Summary) -> None:
        self.known, self.module, self.function, self.summary = known, module, function, summary
        arguments = named_parameters(function)
        variable = [a for a in (function.args.vararg, function.args.kwarg) if a is not None]
        self.containers: set[str] = set()
        self.env: dict[str, Origins] = {a.arg: frozenset([a.arg]) for a in [*arguments, *variable]}

    def read(self) -> None:
        self._block(self.function.body)

    def _block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self._statement(statement)

    def _statement(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.FunctionDef):
            before = dict(self.env)
            self.env |= {a.arg: _NONE for a in named_parameters(statement)}
            self._block(statement.body)
            self.env = before
            return
        if isinstance(statement, ast.For):
            self._calls(statement, statement.iter)
            self._bind(statement, statement.target, self.origins(statement.iter))
        elif isinstance(statement, ast.If | ast.While):
            self._calls(statement, statement.test)
        elif isinstance(statement, ast.With):
            for item in statement.items:
                self._calls(statement, item.context_expr)
        elif not isinstance(statement, ast.ClassDef | ast.Try | ast.Match | ast.AsyncFunctionDef):
            self._simple(statement)
        self._blocks(statement)

    def _blocks(self, statement: ast.stmt) -> None:
        """The bodies of a statement, and what they join to; those of loops are read twice, for the next pass."""
        bodies = [getattr(statement, name, None) or [] for name in ("body", "orelse", "finalbody")]
        bodies += [handler.body for handler in getattr(statement, "handlers", ())]
        for _ in range(2 if isinstance(statement, ast.For | ast.While) else 1):
            entered = dict(self.env), set(self.containers)
            for body in bodies:
                self._branch(statement, body, joins=not (isinstance(statement, ast.With) and body is bodies[0]))
            if (self.env, self.containers) == entered:
                break  # the next pass would begin as this one did

    def _branch(self, statement: ast.stmt, body: list[ast.stmt], *, joins: bool) -> None:
        """One body of a statement; what it ``joins`` is what held before it."""
        before = dict(self.env)
        self._block(body)
        if joins:
            changed = {n: o for n, o in self.env.items() if before.get(n) is not o}
            self.env = before | {n: before.get(n, _NONE) | o for n, o in changed.items()}

    def _simple(self, statement: ast.stmt) -> None:
        self._calls(statement, statement)
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                self._assign(statement, target, statement.value)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            self._assign(statement, statement.target, statement.value)
        elif isinstance(statement, ast.AugAssign):
            self._bind(statement, statement.target, _NONE)
        elif isinstance(statement, ast.Return) and statement.value is not None:
            self.summary.returns |= self.origins(statement.value)

    def _assign(self, statement: ast.stmt, target: ast.expr, value: ast.expr) -> None:
        pairs = isinstance(target, ast.Tuple | ast.List) and isinstance(value, ast.Tuple | ast.List)
        if pairs and len(target.elts) == len(value.elts):  # type: ignore[attr-defined]  # both are displays
            found = [self.origins(v) for v in value.elts]  # type: ignore[attr-defined]  # a display
            for part, origins in zip(target.elts, found, strict=True):  # type: ignore[attr-defined]  # a display
                self._bind(statement, part, origins)
        else:
            self._bind(statement, target, self.origins(value))
        if isinstance(target, ast.Name):
            (self.containers.add if isinstance(value, _DISPLAYS) else self.containers.discard)(target.id)

    def _bind(self, statement: ast.stmt, target: ast.expr, origins: Origins) -> None:
        if isinstance(target, ast.Name):
            self.env[target.id] = origins
        elif isinstance(target, ast.Tuple | ast.List):
            for part in target.elts:
                self._bind(statement, part.value if isinstance(part, ast.Starred) else part, origins)
        elif isinstance(target, ast.Subscript):
            held = isinstance(target.value, ast.Name) and target.value.id in self.containers
            self._write(statement, _NONE if held else self.origins(target.value))
            self._grow(target.value, origins)
        elif isinstance(target, ast.Attribute):
            self._grow(target.value, origins)

    def _grow(self, holder: ast.expr, origins: Origins) -> None:
        """A container, or an object, holds one more value."""
        while isinstance(holder, ast.Subscript | ast.Attribute):
            holder = holder.value
        if isinstance(holder, ast.Name) and origins:
            self.env[holder.id] = self.env.get(holder.id, _NONE) | origins

    # Values -----------------------------------------------------------------------------------------------------

    def origins(self, node: ast.expr) -> Origins:
        """The parameters that an expression may be, or be a part or a view of."""
        if isinstance(node, ast.Name):
            return self.env.get(node.id, _NONE)
        if isinstance(node, ast.Attribute | ast.Subscript | ast.Starred | ast.NamedExpr):
            return self.origins(node.value)
        if isinstance(node, ast.IfExp):
            return self.origins(node.body) | self.origins(node.orelse)
        if isinstance(node, ast.BoolOp):
            return self._all(node.values)
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            return self._all(node.elts)
        if isinstance(node, ast.Dict):
            return self._all(node.values)
        if isinstance(node, ast.ListComp | ast.GeneratorExp):
            for part in node.generators:
                self.env |= {n.id: self.origins(part.iter) for n in walk(part.target) if isinstance(n, ast.Name)}
            return self.origins(node.elt)
        return self._result(node) if isinstance(node, ast.Call) else _NONE

    def _all(self, nodes: list[ast.expr]) -> Origins:
        return _NONE.union(*(self.origins(node) for node in nodes))

    def _result(self, call: ast.Call) -> Origins:
        """What a call may give back of the parameters."""
        callee = self._callee(call)
        if callee is not None:
            returned = self.known.of(*callee).returns
            return _NONE.union(*(self.origins(v) for p, _, v in by_parameter(callee[1], call) if p in returned))
        if isinstance(call.func, ast.Attribute) and not self._name(call):
            return self.origins(call.func.value)
        path, name = self.known.program.origin(self.module, call.func)
        is_class = name in self.known.program.modules[path].symbols.classes
        if is_class or (isinstance(call.func, ast.Name) and call.func.id in _COLLECTING):
            return self._all([*call.args, *(k.value for k in call.keywords)])
        return _NONE

    def _name(self, call: ast.Call) -> str:
        return self.module.symbols.decorator(call.func) or ""

    def _callee(self, call: ast.Call) -> tuple[Module, ast.FunctionDef] | None:
        """The function of the program that a call is of."""
        if isinstance(call.func, ast.Name) and call.func.id in self.module.symbols.functions:
            return self.module, self.module.symbols.functions[call.func.id]
        return self.known.program.function(self.module, call.func)

    # Writes -----------------------------------------------------------------------------------------------------

    def _calls(self, statement: ast.stmt, node: ast.AST) -> None:
        for call in walk(node):
            if isinstance(call, ast.Call):
                self._call(statement, call)

    def _call(self, statement: ast.stmt, call: ast.Call) -> None:
        name, callee = self._name(call), self._callee(call)
        if callee is not None and callee[1] is not self.function:
            written = self.known.of(*callee).parameters
            for parameter, _, value in by_parameter(callee[1], call):
                self._write(statement, self.origins(value) if parameter in written else _NONE)
        elif is_traced(name):
            given = call.args[:1] if name in _FIRST else []
            given += [k.value for k in call.keywords if k.arg in _DESTINATIONS]
            self._write(statement, self._all(given))
        elif isinstance(call.func, ast.Attribute) and call.func.attr in _GROWING:
            self._grow(call.func.value, self._all(call.args))
        elif callee is None and name and not name.startswith(("nl.", "nisa.", "nki.", "np.", "math.")):
            for parameter in sorted(self._all([a for a in call.args if isinstance(a, ast.Name)])):
                self.summary.hidden.append(Write(statement, parameter))

    def _write(self, statement: ast.stmt, origins: Origins) -> None:
        for parameter in sorted(origins):
            write = Write(statement, parameter)
            if write not in self.summary.writes:
                self.summary.writes.append(write)


def returns_something(function: ast.FunctionDef) -> bool:
    """Does a function itself return a value?"""
    return any(isinstance(n, ast.Return) and n.value is not None and not _is_none(n.value) for n in own_nodes(function))


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def loads_parameter(module: Module, function: ast.FunctionDef) -> bool:
    """Does a function load from a parameter of its own, as kernels do?"""
    names = {argument.arg for argument in named_parameters(function)}
    return any(name in names for name in _loaded(module, function))


def _loaded(module: Module, function: ast.FunctionDef) -> Iterator[str]:
    for node in own_nodes(function):
        if isinstance(node, ast.Call) and node.args and module.symbols.decorator(node.func) == "nl.load":
            base: ast.expr = node.args[0]
            while isinstance(base, ast.Subscript):
                base = base.value
            yield base.id if isinstance(base, ast.Name) else ""
