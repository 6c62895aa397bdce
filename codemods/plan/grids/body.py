"""The body of a kernel in parts: what each program of a grid runs, and what stands around the loops.

Outside stand the declarations of outputs, which all programs share, and what they need: sizes, assertions,
configurations. Everything else is of one program: it starts afresh in each iteration.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ...analysis.aliases import CHANGING
from ...expr.emission import Refuse
from ...project.program import Module, Program
from ...syntax.codes import LAUNCH_GRID as CODE
from ...syntax.node_index import children, walk
from ...syntax.nodes import bound_by
from .questions import meant


@dataclass(frozen=True, eq=False)
class Unit:
    """Statements that share lines, with the comments above them; ``first`` and ``last`` are 1-based lines."""

    statements: tuple[ast.stmt, ...]
    first: int
    last: int

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return [node for statement in self.statements for node in walk(statement)]

    @cached_property
    def bound(self) -> set[str]:
        """Names that it binds."""
        return {name for statement in self.statements for name in bound_by(statement)}

    @cached_property
    def read(self) -> set[str]:
        """Names that it reads."""
        read = {n.id for n in self.nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        changed = (n.target for n in self.nodes if isinstance(n, ast.AugAssign))
        return read | {target.id for target in changed if isinstance(target, ast.Name)}

    @cached_property
    def changed(self) -> set[str]:
        """Names of what it changes in place: objects, and tensors, which look the same."""
        found: set[str] = set()
        for node in self.nodes:
            changed: ast.expr | None = None
            if isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(node.ctx, ast.Load):
                changed = node.value
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGING:
                changed = node.func.value
            while isinstance(changed, ast.Subscript | ast.Attribute):
                changed = changed.value
            found |= {changed.id} if isinstance(changed, ast.Name) else set()
        return found

    @cached_property
    def passed(self) -> set[str]:
        """Names that calls get as arguments: a function may change what it gets."""
        calls = [node for node in self.nodes if isinstance(node, ast.Call) and _name_of(node) not in _QUIET]
        given = [argument for call in calls for argument in [*call.args, *(k.value for k in call.keywords)]]
        return {argument.id for argument in given if isinstance(argument, ast.Name)}


def _union(sets: Iterable[set[str]]) -> set[str]:
    return {name for names in sets for name in names}


@dataclass(frozen=True)
class Body:
    """The parts of a body, each in the order of the source. ``ids`` name the places of a program, by axis.

    ``named`` are the assignments that gave them these names, and that loops make superfluous.
    """

    outside: tuple[Unit, ...]
    inside: tuple[Unit, ...]
    tail: tuple[Unit, ...]


def split(program: Program, module: Module, function: ast.FunctionDef, asking: Collection[ast.Call]) -> Body:
    """The parts of a kernel's body; ``asking`` are the calls that ask for the program, or for whole the grid.

    Raises :class:`Refuse` for outputs that depend on the program, and for a ``return`` amid the work.
    """
    units = units_of(module, function)
    count = len(units)
    while count and all(_only_returns(statement) for statement in units[count - 1].statements):
        count -= 1
    units, tail = units[:count], units[count:]
    reading = _Reading(program, module, frozenset(asking))
    _check_ends(units)
    outside = {unit for unit in units if all(reading.is_quiet(s) for s in unit.statements)}
    while any(_moves(module, units, n, outside) for n in range(count)):
        outside -= {unit for n, unit in enumerate(units) if _moves(module, units, n, outside)}
    inside = [unit for unit in units if unit not in outside]
    _check_outputs(module, inside)
    _check_results(reading, tail, _union(unit.bound for unit in inside))
    if not inside:
        raise Refuse(function, CODE, "nothing in this kernel belongs to a program", "launch it without a grid")
    return Body(tuple(u for u in units if u in outside), tuple(inside), tuple(tail))


def _check_ends(units: Sequence[Unit]) -> None:
    """Nothing before the end of a kernel returns."""
    for unit in units:
        if any(isinstance(node, ast.Return) for s in unit.statements for node in _own_nodes(s)):
            raise Refuse(unit.statements[0], CODE, "a return amid a kernel that is to loop", "return at its end")


def _check_outputs(module: Module, inside: Sequence[Unit]) -> None:
    """No output is declared by what each program of the grid runs."""
    for unit in inside:
        if any(module.symbols.host_name(node) == "nl.shared_hbm" for node in unit.nodes):
            message = "an output is declared where each program of the grid would declare its own"
            raise Refuse(unit.statements[0], CODE, message, "declare it first, from sizes that no program changes")


def _check_results(reading: _Reading, tail: Sequence[Unit], bound: set[str]) -> None:
    """What a kernel returns is not what a program made, which ``bound`` names."""
    for unit in tail:
        if unit.read & bound or not all(reading.is_quiet(s) for s in unit.statements):
            message = "the kernel returns what one program made"
            raise Refuse(unit.statements[0], CODE, message, "return tensors in nl.shared_hbm, declared first")


def units_of(module: Module, function: ast.FunctionDef) -> list[Unit]:
    """The body without its docstring. Raises :class:`Refuse` for a body on the line of the header."""
    body, lines = function.body, module.source.text.split("\n")
    end = body[0].lineno - 1
    decorators = getattr(body[0], "decorator_list", [])
    end = min([end, *(d.lineno - 1 for d in decorators)])
    while end and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    if end == 0 or body[0].lineno == function.lineno:
        raise Refuse(function, CODE, "the body of a kernel on the line of its header", "write it below")
    if ast.get_docstring(function, clean=False) is not None:
        end, body = body[0].end_lineno or end, body[1:]
    units: list[Unit] = []
    for statement in body:
        last = statement.end_lineno or statement.lineno
        if units and statement.lineno <= units[-1].last:
            before = units.pop()
            units.append(Unit((*before.statements, statement), before.first, last))
        else:
            units.append(Unit((statement,), end + 1, last))
        end = last
    return units


def _only_returns(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.If):
        return all(_only_returns(s) for s in [*statement.body, *statement.orelse])
    return isinstance(statement, ast.Return)


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """All parts of a statement that are not in a function of its own."""
    yield node
    if not isinstance(node, ast.FunctionDef | ast.Lambda):
        for child in children(node):
            yield from _own_nodes(child)


def _moves(module: Module, units: Sequence[Unit], at: int, outside: Collection[Unit]) -> bool:
    """Is a unit to stand outside where it would mean something else than in every iteration?"""
    unit = units[at]
    if unit not in outside:
        return False
    before = [u for u in units[:at] if u not in outside]
    after = [u for u in units[at + 1 :] if u not in outside]
    if _union(u.bound | u.changed for u in before) & (unit.read | unit.bound):
        return True
    if _union([*(u.read for u in before), *(u.bound for u in after)]) & unit.bound:
        return True
    kept = _union(u.changed | (u.passed if _makes_object(unit) else set()) for u in [*before, *after])
    return bool(kept & (unit.bound - _tensors(module, unit)))


def _tensors(module: Module, unit: Unit) -> set[str]:
    """Names that a unit gives to tensors: what is stored to them changes no Python value."""
    nodes = [node for node in unit.nodes if isinstance(node, ast.Assign | ast.AnnAssign)]
    made = [
        n for n in nodes if isinstance(n.value, ast.Call) and module.symbols.host_name(n.value.func) == "nl.ndarray"
    ]
    return {name for node in made for name in bound_by(node)}


def _makes_object(unit: Unit) -> bool:
    """May a unit bind a list or a dictionary? (One that a declaration gets as its shape is not bound.)"""
    kinds = ast.List | ast.Dict | ast.Set
    values = [s.value for s in unit.statements if isinstance(s, ast.Assign | ast.AnnAssign) and s.value is not None]
    return any(isinstance(n, kinds) or _name_of(n) in ("list", "dict", "set") for v in values for n in walk(v))


def _name_of(node: ast.AST) -> str:
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""


_QUIET = set("len min max int float bool str tuple list dict isinstance getattr hasattr abs round range print".split())
"""Python's own functions that give the same whenever they are asked."""


class _Reading:
    """Judges statements and expressions: do they only compute what all programs of a launch share?"""

    def __init__(self, program: Program, module: Module, asking: frozenset[ast.Call]) -> None:
        self.program, self.module, self.asking = program, module, asking

    def is_quiet(self, statement: ast.stmt) -> bool:
        """Sizes, configurations, assertions, and the declarations of outputs."""
        if isinstance(statement, ast.If):
            parts = [*statement.body, *statement.orelse]
            return self._quiet(statement.test) and all(self.is_quiet(part) for part in parts)
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            names = [n for t in targets for n in (t.elts if isinstance(t, ast.Tuple | ast.List) else [t])]
            return all(isinstance(n, ast.Name) for n in names) and self._quiet(statement.value)
        if isinstance(statement, ast.Assert):
            return self._quiet(statement.test) and self._quiet(statement.msg)
        if isinstance(statement, ast.Return):
            return self._quiet(statement.value)
        return isinstance(statement, ast.Pass)

    def _quiet(self, node: ast.expr | None, depth: int = 0) -> bool:
        if node is None:
            return True
        forbidden = ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.NamedExpr
        nodes = list(walk(node))
        if any(isinstance(n, forbidden | ast.Yield | ast.Await) for n in nodes):
            return False
        return all(self._quiet_call(n, depth) for n in nodes if isinstance(n, ast.Call))

    def _quiet_call(self, call: ast.Call, depth: int) -> bool:
        if call in self.asking:
            return self.module.symbols.host_name(call.func) in ("nl.num_programs", "nl.program_ndim")
        name = self.module.symbols.host_name(call.func)
        if name == "nl.ndarray":
            return any(self.module.symbols.host_name(n) == "nl.shared_hbm" for n in walk(call))
        if name in ("nl.num_programs", "nl.program_ndim", "np.dtype", "nl.par_dim") or name.startswith("math."):
            return True
        own = self.module.symbols.rebound | set(self.module.symbols.imports)
        if isinstance(call.func, ast.Name) and call.func.id in _QUIET and call.func.id not in own:
            return True
        return depth < _DEPTH and (self._quiet_function(call.func, depth) or self._record(call.func))

    def _quiet_function(self, node: ast.expr, depth: int) -> bool:
        """Is it a function of the program that only computes (``div_ceil``)?"""
        found = meant(self.program, self.module, node)
        if found is None or found[1].decorator_list:
            return False
        inner = _Reading(self.program, found[0], frozenset())
        return all(inner.computes(s, depth + 1) for s in found[1].body)

    def computes(self, statement: ast.stmt, depth: int) -> bool:
        """Does a statement of a function that was called only compute?"""
        if isinstance(statement, ast.If):
            parts = [*statement.body, *statement.orelse]
            return self._quiet(statement.test, depth) and all(self.computes(part, depth) for part in parts)
        if isinstance(statement, ast.Expr):
            return isinstance(statement.value, ast.Constant)
        nodes = [n for n in children(statement) if isinstance(n, ast.expr)]
        asks = any(isinstance(n, ast.Call) and self.module.symbols.host_name(n.func) in _ASKS for n in walk(statement))
        simple = isinstance(statement, ast.Return | ast.Assert) or self.is_quiet(statement)
        return simple and not asks and all(self._quiet(n, depth) for n in nodes)

    def _record(self, node: ast.expr) -> bool:
        """Is it a class that only holds values: a dataclass, a named tuple?"""
        name = node.id if isinstance(node, ast.Name) else ""
        path, there = self.program.origin(self.module, node)
        home = self.program.modules.get(path, self.module)
        found = [home.symbols.classes[each] for each in (there or name,) if each in home.symbols.classes]
        marks = [ast.unparse(mark) for c in found for mark in [*c.decorator_list, *c.bases]]
        return any("dataclass" in mark or mark.endswith("NamedTuple") for mark in marks)


_ASKS = {"nl.program_id", "nl.num_programs", "nl.program_ndim"}
_DEPTH = 3
