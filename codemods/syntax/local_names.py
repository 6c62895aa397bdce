"""Which names functions bind, by the compiler's own tables, and which of their statements do."""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterator, Sequence
from functools import lru_cache

from .node_index import children


def local_names(text: str, function: ast.FunctionDef) -> frozenset[str]:
    """Names that a function of a module's ``text`` binds, its parameters among them."""
    table = _tables(text).get((function.name, function.lineno))
    return frozenset(s.get_name() for s in table.get_symbols() if s.is_local()) if table is not None else frozenset()


def free_names(text: str, function: ast.FunctionDef) -> frozenset[str]:
    """Names of the functions around it that a function reads, or one in it."""
    table = _tables(text).get((function.name, function.lineno))
    return frozenset(table.get_frees()) if isinstance(table, symtable.Function) else frozenset()


def names_inside(text: str, function: ast.FunctionDef) -> frozenset[str]:
    """Names that a function binds, or a function in it."""
    table = _tables(text).get((function.name, function.lineno))
    pending, found = [table] if table is not None else [], set[str]()
    while pending:
        known = pending.pop()
        found.update(s.get_name() for s in known.get_symbols() if s.is_local())
        pending += known.get_children()
    return frozenset(found)


def names_in_scope(text: str, function: ast.FunctionDef) -> frozenset[str]:
    """Names that a function binds or reads, and those that functions in it read and do not bind."""
    table = _tables(text).get((function.name, function.lineno))
    pending = table.get_children() if table is not None else []
    found = {s.get_name() for s in table.get_symbols()} if table is not None else set[str]()
    while pending:
        inner = pending.pop()
        found.update(s.get_name() for s in inner.get_symbols() if not s.is_local())
        pending += inner.get_children()
    return frozenset(found)


@lru_cache(maxsize=8)
def _tables(text: str) -> dict[tuple[str, int], symtable.SymbolTable]:
    """The table of each function of a module, by its name and line."""
    pending, found = [symtable.symtable(text, "<string>", "exec")], {}
    while pending:
        table = pending.pop()
        if table.get_type() == "function":
            found[table.get_name(), table.get_lineno()] = table
        pending += table.get_children()
    return found


def own_statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """All statements of a function or module, but those of functions and classes in it."""
    for statement in body:
        yield statement
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = [s for s in children(statement) if isinstance(s, ast.stmt)]
            clauses = [c for c in children(statement) if isinstance(c, ast.ExceptHandler | ast.match_case)]
            yield from own_statements([*inner, *(s for c in clauses for s in c.body)])


def bound_here(statement: ast.stmt) -> set[str]:
    """Names that a statement binds itself: not in the statements below it, and not in functions."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name.partition(".")[0] for alias in statement.names}
    parts = [child for child in children(statement) if not isinstance(child, ast.stmt)]
    stored = {n.id for part in parts for n in _names_in(part) if not isinstance(n.ctx, ast.Load)}
    handlers = {c.name for c in parts if isinstance(c, ast.ExceptHandler) and c.name}
    return stored | handlers


def _names_in(node: ast.AST) -> Iterator[ast.Name]:
    if isinstance(node, ast.Name):
        yield node
    for child in children(node):
        if not isinstance(child, ast.stmt | ast.Lambda):
            yield from _names_in(child)
