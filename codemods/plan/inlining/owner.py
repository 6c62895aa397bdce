"""Which nested functions one statement calls, and what becomes of their names in its place."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field

from ...project.program import numbered
from ...syntax.local_names import free_names, names_in_scope, names_inside, own_statements
from ...syntax.node_index import children, of_kinds, walk
from ...syntax.nodes import by_parameter, default_values, named_parameters, uses_by_name, way_to
from ...syntax.source import Source
from ..line_origins import margin_of

_NOT_MOVED = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.Import, ast.ImportFrom, ast.Try, ast.With),
    *(ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom, ast.Await, ast.NamedExpr, ast.Match),
)
"""What binds names otherwise than by writing them, or means something else in another function."""
_NUMBERED = 2
"""A name of a body that needs a number is as bad as so many parameters of a function that moves to the module."""


@dataclass(frozen=True)
class Step:
    """A nested function, and the statement that calls it.

    ``names`` is what becomes of names of its body, ``bound`` are parameters that a statement in front of it binds, with
    what the call passes, and ``result`` is what stands for ``return``: ``x =``, ``return``, or nothing where what it
    returns is dropped, or has the names of the caller.
    """

    function: ast.FunctionDef
    call: ast.stmt
    names: Mapping[str, str]
    bound: Mapping[str, ast.expr]
    result: str

    @property
    def body(self) -> list[ast.stmt]:
        """The statements of the function that stay: not its doc string, nor a ``return`` without a result."""
        body = self.function.body[ast.get_docstring(self.function, clean=False) is not None :]
        return body[:-1] if body and isinstance(body[-1], ast.Return) and not self.result else body


@dataclass
class Owner:
    """A function with functions in it: what its names are, and what they will be."""

    source: Source
    node: ast.FunctionDef
    taken: set[str] = field(default_factory=set)
    counters: set[str] = field(default_factory=set)
    """Names that only loops bind and only their bodies read: loops elsewhere can have them, too."""

    def steps(self) -> Iterator[Step]:
        if any(True for _ in of_kinds(self.node, ast.Nonlocal, ast.Global)):
            return
        self.taken = {*names_in_scope(self.source.text, self.node)}
        read_inside = {n for f in self.node.body if isinstance(f, ast.FunctionDef) for n in self._free(f)}
        self.counters = {n for n in self.taken if _is_counter(self.node, n)} - read_inside
        for function in self.node.body:
            if isinstance(function, ast.FunctionDef) and self._free(function) and _is_plain(self.source, function):
                call = self._only_call(function)
                step = self._step(function, call) if call is not None else None
                if step is not None:
                    self._take(step)
                    yield step

    def _free(self, function: ast.FunctionDef) -> frozenset[str]:
        return free_names(self.source.text, function)

    def _only_call(self, function: ast.FunctionDef) -> ast.stmt | None:
        """The statement below a function that only calls it, alone on its lines, where nothing else names it."""
        names = [n for n in of_kinds(self.node, ast.Name) if n.id == function.name]
        others = [f for f in of_kinds(self.node, ast.FunctionDef) if f.name == function.name and f is not function]
        if len(names) != 1 or others or any(a.arg == function.name for a in of_kinds(self.node, ast.arg)):
            return None
        for statement in own_statements(self.node.body):
            call = _call_of(statement)
            if call is not None and call.func is names[0] and statement.lineno > (function.end_lineno or 0):
                return statement if _stands_alone(self.source, statement) else None
        return None

    def _step(self, function: ast.FunctionDef, statement: ast.stmt) -> Step | None:
        """A call as a step; ``None`` where the body cannot stand in its place."""
        call = _call_of(statement)
        given = _given(function, call) if call is not None else None
        if given is None or any(isinstance(value, ast.Constant) and _decides(value.value) for value in given.values()):
            return None
        names = {p: value.id for p, value in given.items() if isinstance(value, ast.Name)}
        bound = {p: value for p, value in given.items() if p not in names}
        returned = self._returned(function, statement, bound.keys(), given)
        result = self._result(function, statement) if returned is None else ""
        if result is None:
            return None
        names |= returned or {}
        own = self._own_names(function, statement, names)
        step = Step(function, statement, {**names, **own}, bound, result)
        numbered_ones = sum(name != new for name, new in own.items())
        changed = {name for name, new in step.names.items() if name != new}
        if changed & _names_in_strings(function) or not (step.body or bound):
            return None
        return step if _NUMBERED * numbered_ones <= len(self._free(function)) else None

    def _own_names(self, function: ast.FunctionDef, statement: ast.stmt, known: Mapping[str, str]) -> dict[str, str]:
        """What the other names that a function binds are called here."""
        local = names_inside(self.source.text, function)
        around = {n.id for loop in self._loops_around(statement) for n in of_kinds(loop.target, ast.Name)}
        taken = self.taken - {n for n in self.counters - around if _is_counter(function, n)} | {*known.values()}
        found: dict[str, str] = {}
        for name in sorted(local - known.keys()):
            found[name] = numbered(name, taken | (local - {name}) | {*found.values()})
        return found

    def _returned(
        self, function: ast.FunctionDef, statement: ast.stmt, bound: Set[str], given: Mapping[str, ast.expr]
    ) -> dict[str, str] | None:
        """The names of what a function returns that can be those of the caller from the start."""
        last = function.body[-1]
        if not isinstance(last, ast.Return) or not isinstance(statement, ast.Assign) or last.value is None:
            return None
        values, targets = _parts(last.value), _parts(statement.targets[0])
        both = zip(values, targets, strict=False)
        names = [(v.id, t.id) for v, t in both if isinstance(v, ast.Name) and isinstance(t, ast.Name)]
        pairs = dict(names)
        if not len(values) == len(targets) == len(pairs) == len(set(pairs.values())):
            return None
        read = {n.id for value in given.values() for n in of_kinds(value, ast.Name)}
        read |= names_in_scope(self.source.text, function) - pairs.keys()
        others = (f for f in self.node.body if isinstance(f, ast.FunctionDef) and f is not function)
        read |= {n for other in others for n in self._free(other)}
        local = names_inside(self.source.text, function) - (given.keys() - bound)
        return pairs if pairs.keys() <= local and not read & {*pairs.values()} else None

    def _result(self, function: ast.FunctionDef, statement: ast.stmt) -> str | None:
        """What stands for ``return`` of a function; ``None`` where nothing can."""
        last = function.body[-1]
        value = last.value if isinstance(last, ast.Return) else None
        if isinstance(statement, ast.Expr):
            return "" if value is None or all(isinstance(part, ast.Name) for part in _parts(value)) else None
        if value is None:
            return None
        if isinstance(statement, ast.Return):
            return "return"
        assert isinstance(statement, ast.Assign)
        target = self.source.segment(statement.targets[0])
        return None if "\n" in target else f"{target} ="

    def _loops_around(self, statement: ast.stmt) -> list[ast.For]:
        around = [block[index] for block, index in way_to(self.node, statement)]
        return [loop for loop in around if isinstance(loop, ast.For)]

    def _take(self, step: Step) -> None:
        """The names of a function are its caller's now."""
        new = {n for name, n in step.names.items() if name in names_inside(self.source.text, step.function)}
        counted = {n for name, n in step.names.items() if _is_counter(step.function, name)}
        self.counters = (self.counters | (counted - self.taken)) - (new - counted)
        self.taken |= new


def _is_plain(source: Source, function: ast.FunctionDef) -> bool:
    """Does a function stand alone on its lines, return at its end or never, and bind only names that it writes?"""
    inner = [node for statement in function.body for node in walk(statement)]
    if any(isinstance(n, _NOT_MOVED) or (isinstance(n, ast.Return) and n is not function.body[-1]) for n in inner):
        return False
    is_open = function.args.vararg or function.args.kwarg or function.decorator_list
    told = all(isinstance(value, ast.Constant) for value in default_values(function).values())
    return not is_open and told and all(_stands_alone(source, statement) for statement in function.body)


def _stands_alone(source: Source, statement: ast.stmt) -> bool:
    """Is nothing but blanks and a comment beside a statement?"""
    behind = source.text[source.span(statement)[1] :].partition("\n")[0].strip()
    return not margin_of(source, statement).strip() and (not behind or behind.startswith("#"))


def _call_of(statement: ast.stmt) -> ast.Call | None:
    """The call that a statement is, binds to one target, or returns."""
    plain = isinstance(statement, ast.Expr | ast.Return) or (
        isinstance(statement, ast.Assign) and len(statement.targets) == 1
    )
    value = getattr(statement, "value", None) if plain else None
    return value if isinstance(value, ast.Call) else None


def _given(function: ast.FunctionDef, call: ast.Call) -> dict[str, ast.expr] | None:
    """What a call gives each parameter, in the order in which it computes it.

    ``None`` where that is not told, and where the function binds a parameter again: it has a tile of its own then.
    """
    if any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
        return None
    arguments = by_parameter(function, call)
    given = {parameter: value for parameter, _, value in arguments}
    defaults = {a.arg: value for a, value in default_values(function).items() if a.arg not in given}
    names = {a.arg for a in named_parameters(function)}
    again = any(n.id in names and not isinstance(n.ctx, ast.Load) for n in of_kinds(function, ast.Name))
    is_told = len(given) == len(arguments) and given.keys() | defaults.keys() == names
    return {**given, **defaults} if is_told and not again else None


def _decides(value: object) -> bool:
    """Is a constant a flag, or nothing at all? A function that moves to the module is written for it."""
    return value is None or isinstance(value, bool)


def _names_in_strings(function: ast.FunctionDef) -> set[str]:
    return {n.id for text in of_kinds(function, ast.JoinedStr) for n in of_kinds(text, ast.Name)}


def _parts(value: ast.expr) -> list[ast.expr]:
    return value.elts if isinstance(value, ast.Tuple) else [value]


def _is_counter(function: ast.FunctionDef, name: str) -> bool:
    """Is a name bound by loops of a function only, and read in their bodies only?"""
    return name not in {a.arg for a in of_kinds(function.args, ast.arg)} and all(
        name not in uses_by_name(statement) or _reads_in_loops(statement, name) for statement in function.body
    )


def _reads_in_loops(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.FunctionDef | ast.Lambda):
        return True  # a scope of its own, or one that reads names of this one, which is another question
    if isinstance(node, ast.Name):
        return node.id != name
    if isinstance(node, ast.For) and any(n.id == name for n in of_kinds(node.target, ast.Name)):
        bound = [
            n for s in node.body for n in of_kinds(s, ast.Name) if n.id == name and not isinstance(n.ctx, ast.Load)
        ]
        return not bound and all(_reads_in_loops(part, name) for part in [node.iter, *node.orelse])
    return all(_reads_in_loops(child, name) for child in children(node))
