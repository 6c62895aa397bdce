"""What the names of a file mean: imports, definitions and module-level aliases, resolved to qualified names."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from ..spec.grammar import children, nodes_of

Function = ast.FunctionDef | ast.AsyncFunctionDef
Fact = TypeVar("Fact")


@dataclass(frozen=True)
class Module:
    """The module level of a file.

    ``imports`` maps a name to the qualified name that it was imported from, ``definitions`` to the function or class
    defined under it, ``values`` to the expressions assigned to it; ``stars`` are the modules imported with ``*``,
    ``rebound`` the imported names that mean something else at the end.
    """

    tree: ast.Module
    imports: dict[str, str] = field(default_factory=dict)
    definitions: dict[str, Function | ast.ClassDef] = field(default_factory=dict)
    values: dict[str, list[ast.expr]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    rebound: set[str] = field(default_factory=set)
    _nodes: dict[int, list[ast.AST]] = field(default_factory=dict)
    _locals: dict[int, frozenset[str]] = field(default_factory=dict)
    _facts: dict[tuple[object, int], Any] = field(default_factory=dict)

    @cached_property
    def calls(self) -> list[ast.Call]:
        """All calls of the file, wherever they stand."""
        return [node for node in nodes_of(self.tree) if isinstance(node, ast.Call)]

    def own_nodes(self, function: Function) -> list[ast.AST]:
        """Nodes of the body of ``function``, inner functions and classes without their bodies."""
        if id(function) not in self._nodes:
            self._nodes[id(function)] = list(_own_nodes(function))
        return self._nodes[id(function)]

    def local_names(self, function: Function) -> frozenset[str]:
        """Names that are local to ``function``: parameters and everything that its own statements bind."""
        if id(function) not in self._locals:
            self._locals[id(function)] = frozenset(_local_names(function, self.own_nodes(function)))
        return self._locals[id(function)]

    def remembered(self, fact: Callable[[Function, Module], Fact], function: Function) -> Fact:
        """``fact(function, self)``, computed once."""
        key = fact, id(function)
        if key not in self._facts:
            self._facts[key] = fact(function, self)
        found: Fact = self._facts[key]
        return found

    def binds(self, name: str) -> bool:
        return name in self.imports or name in self.definitions or name in self.values

    def qualified(self, node: ast.expr, shadowed: frozenset[str] | set[str] = frozenset()) -> str | None:
        """The qualified name of ``node``, a name or an attribute chain that starts at an import; else ``None``.

        ``shadowed`` are the local names of the function that ``node`` stands in.
        """
        return self._qualified(node, shadowed, frozenset())

    def _qualified(self, node: ast.expr, shadowed: frozenset[str] | set[str], seen: frozenset[str]) -> str | None:
        if isinstance(node, ast.Attribute):
            value = self._qualified(node.value, shadowed, seen)
            return None if value is None else f"{value}.{node.attr}"
        if not isinstance(node, ast.Name) or node.id in shadowed or node.id in seen:
            return None
        if node.id in self.imports and node.id not in self.rebound:
            return self.imports[node.id]
        aliased = self.values.get(node.id, [])
        if len(aliased) == 1 and node.id not in self.definitions:
            return self._qualified(aliased[0], frozenset(), seen | {node.id})
        return None


def module_of(tree: ast.Module) -> Module:
    """The names that the module level of ``tree`` binds. In ``try: import a except: import b`` the first one counts."""
    module = Module(tree)
    for statement in module_statements(tree.body):
        _bind(module, statement)
    for statement in tree.body:
        _rebind(module, statement)
    return module


def _rebind(module: Module, statement: ast.stmt) -> None:
    """What a statement that always runs binds means that from there on, whatever was imported under its name."""
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        module.rebound.difference_update(a.asname or a.name.partition(".")[0] for a in statement.names)
    elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        module.rebound.add(statement.name)
    elif isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        module.rebound.update(name for target in targets for name in _stored(target))


def module_statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run at import, those under ``if``, ``try``, ``with`` and loops included."""
    for statement in body:
        yield statement
        for name in ("body", "orelse", "finalbody"):
            if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                yield from module_statements(getattr(statement, name, []))
        for handler in getattr(statement, "handlers", []):
            yield from module_statements(handler.body)


def _bind(module: Module, statement: ast.stmt) -> None:
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            root = alias.name.partition(".")[0]
            module.imports.setdefault(alias.asname or root, alias.name if alias.asname else root)
    elif isinstance(statement, ast.ImportFrom):
        for alias in statement.names:
            source = "." * statement.level + (statement.module or "")
            if alias.name == "*":
                module.stars.append(source)
            else:
                module.imports.setdefault(alias.asname or alias.name, f"{source}.{alias.name}")
    elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        module.definitions[statement.name] = statement
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            for name in _stored(target):
                module.values.setdefault(name, []).append(statement.value)
    elif isinstance(statement, (ast.AnnAssign, ast.AugAssign)) and statement.value is not None:
        for name in _stored(statement.target):
            module.values.setdefault(name, []).append(statement.value)
    elif isinstance(statement, (ast.For, ast.With)):
        for node in _headers(statement):
            for name in _stored(node):
                module.values.setdefault(name, []).append(node)


def _headers(statement: ast.For | ast.With) -> list[ast.expr]:
    if isinstance(statement, ast.For):
        return [statement.target]
    return [item.optional_vars for item in statement.items if item.optional_vars is not None]


def _stored(target: ast.expr) -> list[str]:
    return [node.id for node in ast.walk(target) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]


def is_dotted(node: ast.expr) -> bool:
    """Is ``node`` a name or a chain of attributes that starts at one?"""
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and is_dotted(node.value))


def parameters(function: Function) -> list[ast.arg]:
    """All parameters in the order in which the front end binds them; ``*args`` and ``**kwargs`` are not among them."""
    arguments = function.args
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


def _local_names(function: Function, nodes: list[ast.AST]) -> set[str]:
    names = {parameter.arg for parameter in parameters(function)}
    names |= {extra.arg for extra in (function.args.vararg, function.args.kwarg) if extra is not None}
    outside: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                names.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.add(node.name)
        elif isinstance(node, ast.Global):
            outside |= set(node.names)
    return names - outside


def _own_nodes(function: Function) -> Iterator[ast.AST]:
    stack: list[ast.AST] = list(reversed(function.body))
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            stack.extend(reversed(children(node)))
