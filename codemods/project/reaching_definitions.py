"""Which bindings of a name each read of a module may see: scopes, and reaching definitions within each of them.

A name that a function does not bind means the one around it, at whatever moment it is read: all bindings of that scope
count. Names of comprehensions and parameters of lambdas belong to their expression alone.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ..syntax.node_index import children, indexed, walk
from ..syntax.nodes import named_parameters

Definition = ast.FunctionDef | ast.AsyncFunctionDef
Bindings = frozenset[ast.AST]
"""Statements and parameters that bind a name; the module's tree stands for "not bound yet"."""
Names = dict[str, Bindings]


@dataclass(eq=False)
class Space:
    """The names of a module, a function or the body of a class.

    ``before`` and ``after`` are what its own names may be bound to around each of its statements, ``start`` where its
    body begins, ``every`` all bindings of each name.
    """

    node: ast.Module | Definition | ast.ClassDef
    around: Space | None
    own: frozenset[str]
    outer: frozenset[str]
    before: dict[ast.stmt, Names] = field(default_factory=dict)
    after: dict[ast.stmt, Names] = field(default_factory=dict)
    start: Names = field(default_factory=dict)
    every: dict[str, set[ast.AST]] = field(default_factory=dict)

    def home(self, name: str) -> Space | None:
        """The space whose name a read here means; ``None`` for one that the module does not bind."""
        if name in self.own:
            return self
        space: Space | None = self.around
        while space is not None and space.around is not None and name in self.outer:
            space = space.around
        while space is not None and (isinstance(space.node, ast.ClassDef) or name not in space.own):
            space = space.around
        return space


@dataclass(frozen=True)
class Definitions:
    """The spaces of a module: that of each statement, and that of each function and class."""

    tree: ast.Module
    of_statement: dict[ast.stmt, Space]
    inside: dict[ast.AST, Space]

    def bindings(self, statement: ast.stmt, name: str, *, behind: bool = False) -> tuple[Space | None, Bindings]:
        """The space of a name that a statement reads, and the bindings that it may see (or code behind it)."""
        space = self.of_statement[statement]
        home = space.home(name)
        if home is None:
            return None, frozenset()
        if home is space:
            return home, (space.after if behind else space.before).get(statement, {}).get(name, frozenset())
        return home, frozenset(home.every.get(name, ()))


def definitions(tree: ast.Module, once: Callable[[ast.For], bool] = lambda loop: False) -> Definitions:
    """All spaces of a module. The body of a loop that is traced ``once`` never sees what it has bound itself."""
    found = Definitions(tree, {}, {})
    pending: list[tuple[ast.Module | Definition | ast.ClassDef, Space | None]] = [(tree, None)]
    while pending:
        node, around = pending.pop()
        space = _space(node, around, tree)
        found.inside[node] = space
        flow = _Flow(space, tree, once)
        flow.block(node.body, space.start)
        found.of_statement.update(dict.fromkeys(space.before, space))
        pending += [(inner, space) for inner in flow.inner]
    return found


@indexed
def definitions_in(function: ast.FunctionDef) -> Definitions:
    """The spaces of one function, as if nothing stood around it."""
    return definitions(ast.Module([function], []))


def _space(node: ast.Module | Definition | ast.ClassDef, around: Space | None, tree: ast.Module) -> Space:
    told = [n for s in own_statements(node.body) if isinstance(s, ast.Global | ast.Nonlocal) for n in s.names]
    bound = {name for s in own_statements(node.body) for name in names_bound(s)} - set(told)
    globals_ = {n for s in own_statements(node.body) if isinstance(s, ast.Global) for n in s.names}
    start: Names = dict.fromkeys(bound, frozenset({tree}))
    if isinstance(node, Definition):
        start |= {argument.arg: frozenset({argument}) for argument in parameters(node)}
    space = Space(node, around, frozenset(start), frozenset(globals_), start=start)
    for name, bindings in start.items():
        space.every[name] = set(bindings) - {tree}
    return space


def parameters(function: Definition) -> list[ast.arg]:
    """All parameters of a function."""
    starred = [a for a in (function.args.vararg, function.args.kwarg) if a is not None]
    return [*named_parameters(function), *starred]  # type: ignore[arg-type]  # None is left out


def statement_blocks(statement: ast.AST) -> Iterator[list[ast.stmt]]:
    """The blocks of a statement in the order of the source."""
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        inner = getattr(statement, name, None)
        if isinstance(inner, list) and inner and isinstance(inner[0], ast.stmt):
            yield inner
        elif isinstance(inner, list):
            yield from (part.body for part in inner)


def every_statement(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a block and all that stand in them, in the order of the source."""
    for statement in body:
        yield statement
        for block in statement_blocks(statement):
            yield from every_statement(block)


def own_statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of one space."""
    for statement in body:
        yield statement
        if not isinstance(statement, Definition | ast.ClassDef):
            for block in statement_blocks(statement):
                yield from own_statements(block)


def own_parts(statement: ast.stmt) -> Iterator[ast.AST]:
    """The expressions that a statement itself evaluates, or binds: those of its header, where it has a body."""
    if isinstance(statement, Definition):
        yield from (*statement.decorator_list, *statement.args.defaults, *filter(None, statement.args.kw_defaults))
        return
    for name, value in ast.iter_fields(statement):
        if name in ("body", "orelse", "finalbody"):
            continue
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.ExceptHandler | ast.match_case):
                yield from (p for f, p in ast.iter_fields(part) if f != "body" and isinstance(p, ast.AST))
            elif isinstance(part, ast.AST):
                yield part


@indexed
def names_bound(statement: ast.stmt) -> frozenset[str]:
    """Names that a statement binds itself (``del`` counts)."""
    if isinstance(statement, Definition | ast.ClassDef):
        return frozenset({statement.name} | _stores(own_parts(statement)))
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return frozenset(alias.asname or alias.name.partition(".")[0] for alias in statement.names)
    if isinstance(statement, ast.AnnAssign) and statement.value is None:
        return frozenset()
    handlers = {h.name for h in getattr(statement, "handlers", ()) if h.name}
    matched = {
        n.name
        for part in own_parts(statement)
        for n in walk(part)
        if isinstance(n, ast.MatchAs | ast.MatchStar) and n.name
    }
    return frozenset(_stores(own_parts(statement)) | handlers | matched)


def _stores(parts: Iterator[ast.AST]) -> set[str]:
    nodes = [n for part in parts for n in walk(part)]
    inner = {id(n) for c in nodes if isinstance(c, ast.comprehension) for n in ast.walk(c.target)}
    return {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load) and id(n) not in inner}


def names_read(statement: ast.stmt) -> Iterator[ast.Name]:
    """The reads of a statement's own expressions, of names outside of these."""
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        yield ast.copy_location(ast.Name(statement.target.id, ast.Load()), statement.target)
    for part in own_parts(statement):
        yield from _reads(part, frozenset())


def _reads(node: ast.AST, inner: frozenset[str]) -> Iterator[ast.Name]:
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Load) and node.id not in inner:
            yield node
        return
    if isinstance(node, ast.Lambda):
        inner |= {n.arg for n in ast.walk(node.args) if isinstance(n, ast.arg)}
    if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
        targets = [n for c in node.generators for n in ast.walk(c.target)]
        inner |= {n.id for n in targets if isinstance(n, ast.Name)}
    for child in children(node):
        yield from _reads(child, inner)


def _joined(first: Names | None, second: Names | None) -> Names | None:
    if first is None or second is None or first is second:
        return second if first is None else first
    more = {
        name: mine | other for name, mine in first.items() if (other := second[name]) is not mine and not other <= mine
    }
    return {**first, **more} if more else first


class _Flow:
    """Follows the statements of one space; ``None`` is what is known where nothing arrives."""

    def __init__(self, space: Space, tree: ast.Module, once: Callable[[ast.For], bool]) -> None:
        self.space, self.tree, self.once = space, tree, once
        self.inner: list[Definition | ast.ClassDef] = []
        self.left: list[list[Names | None]] = []
        self.again: list[list[Names | None]] = []

    def block(self, body: list[ast.stmt], names: Names | None) -> Names | None:
        for statement in body:
            names = self.statement(statement, names)
        return names

    def statement(self, statement: ast.stmt, names: Names | None) -> Names | None:
        before = self.space.before
        first = statement not in before
        before[statement] = _joined(before.get(statement) or None, names) or {}
        if first and isinstance(statement, Definition | ast.ClassDef):
            self.inner.append(statement)
        result = self._through(statement, names)
        after = self.space.after
        after[statement] = _joined(after.get(statement) or None, result) or {}
        return result

    def _bind(self, statement: ast.stmt, names: Names | None) -> Names | None:
        bound = names_bound(statement) & self.space.own
        for name in bound:
            self.space.every[name].add(statement)
        if names is None or not bound:
            return names
        site: Bindings = frozenset({self.tree if isinstance(statement, ast.Delete) else statement})
        return {**names, **dict.fromkeys(bound, site)}

    def _through(self, statement: ast.stmt, names: Names | None) -> Names | None:
        match statement:
            case ast.If():
                names = self._bind(statement, names)
                return _joined(self.block(statement.body, names), self.block(statement.orelse, names))
            case ast.For() | ast.AsyncFor() | ast.While():
                return self._loop(statement, names)
            case ast.With() | ast.AsyncWith():
                return self.block(statement.body, self._bind(statement, names))
            case ast.Try():
                return self._try(statement, names)
            case ast.Match():
                names = self._bind(statement, names)
                ends = names
                for case in statement.cases:
                    ends = _joined(ends, self.block(case.body, names))
                return ends
            case ast.Break() | ast.Continue():
                (self.left if isinstance(statement, ast.Break) else self.again)[-1].append(names)
                return None
            case ast.Return() | ast.Raise():
                self._bind(statement, names)
                return None
        return self._bind(statement, names)

    def _loop(self, loop: ast.For | ast.AsyncFor | ast.While, names: Names | None) -> Names | None:
        once = isinstance(loop, ast.For) and self.once(loop)
        head = names
        self.left.append([])
        while True:
            self.again.append([])
            end = self.block(loop.body, self._bind(loop, head))
            for other in self.again.pop():
                end = _joined(end, other)
            joined = _joined(head, end)
            if once or joined == head:
                break
            head = joined
        if isinstance(loop, ast.While):
            self.space.before[loop] = joined or {}  # its test is read again and again
        behind = self.block(loop.orelse, joined)
        for other in self.left.pop():
            behind = _joined(behind, other)
        return behind

    def _try(self, statement: ast.Try, names: Names | None) -> Names | None:
        end = self.block(statement.body, names)
        caught = _joined(names, end)
        for inner in own_statements(statement.body):
            caught = _joined(caught, self.space.after.get(inner) or None)
        caught = self._bind(statement, caught)
        end = self.block(statement.orelse, end)
        for handler in statement.handlers:
            end = _joined(end, self.block(handler.body, caught))
        return self.block(statement.finalbody, _joined(end, caught) if statement.finalbody else end)
