"""What stands at the level of a module: at its top, or in a condition or a ``try`` there.

Many files define their kernels only where NKI is installed: ``if HAS_NKI``, or ``try`` with ``except ImportError``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from .names import imports
from .node_index import indexed, of_kinds, trees_kept, walk
from .nodes import blocks

Definition = ast.FunctionDef | ast.ClassDef


@indexed
def module_statements(tree: ast.Module) -> Sequence[ast.stmt]:
    """What may run when a module is imported: its statements, and those in its conditions and its ``try``.

    Nothing of ``if __name__ == "__main__"`` runs then.
    """
    return tuple(_at_import(tree.body))


@indexed
def module_definitions(tree: ast.Module) -> dict[str, Definition]:
    """The functions and classes of a module by name.

    The last one at the top counts. Of those in conditions one counts alone, but for others that only raise: which one
    of several a name means is open.
    """
    top = {statement.name: statement for statement in tree.body if isinstance(statement, Definition)}
    guarded: dict[str, list[Definition]] = {}
    for statement in module_statements(tree):
        if isinstance(statement, Definition) and statement.name not in top and not _is_stub(statement):
            guarded.setdefault(statement.name, []).append(statement)
    return top | {name: several[0] for name, several in guarded.items() if len(several) == 1}


@indexed
def definitions_around(tree: ast.Module) -> dict[ast.AST, str]:
    """The module-level function or class that each node stands in, by name."""
    definitions = (s for s in module_statements(tree) if isinstance(s, Definition | ast.AsyncFunctionDef))
    return {node: definition.name for definition in definitions for node in walk(definition)}


@indexed
def stand_ins(tree: ast.Module) -> frozenset[ast.Name]:
    """The names that are ``None`` where their import is not there: ``except ImportError: nl = None``."""
    imported = {item.name: item.statement.lineno for item in imports(tree)}
    top = set(tree.body)
    found: set[ast.Name] = set()
    for statement in module_statements(tree):
        if isinstance(statement, ast.Assign) and ast.unparse(statement.value) == "None":
            names = [name for name in statement.targets if isinstance(name, ast.Name) and name.id in imported]
            found.update(n for n in names if statement not in top or statement.lineno < imported[n.id])
    return frozenset(found)


@trees_kept()
def where_installed(tree: ast.Module) -> ast.Module:
    """A module to read, with what its conditions and ``try`` define at its top: as it is where NKI is installed."""
    meant = set(module_definitions(tree).values())

    def flat(statements: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
        for statement in statements:
            if isinstance(statement, ast.If | ast.Try | ast.With) and meant.intersection(walk(statement)):
                for name in ("body", "orelse", "finalbody"):
                    yield from flat(getattr(statement, name, ()))
            elif not isinstance(statement, Definition) or statement in meant:
                yield statement

    has_guards = any(isinstance(statement, ast.If | ast.Try | ast.With) for statement in tree.body)
    return ast.Module(list(flat(tree.body)), tree.type_ignores) if has_guards else tree


def _at_import(statements: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in statements:
        yield statement
        if isinstance(statement, ast.If | ast.Try | ast.With) and not is_main(statement):
            for block in blocks(statement):
                yield from _at_import(block)


def is_main(statement: ast.stmt) -> bool:
    """Is a statement ``if __name__ == "__main__"``?"""
    test = statement.test if isinstance(statement, ast.If) else statement
    named = (node for node in walk(test) if isinstance(node, ast.Name))
    return isinstance(statement, ast.If) and any(node.id == "__name__" for node in named)


def _is_stub(definition: Definition) -> bool:
    """Does a function only say that it is not there?"""
    body = [s for s in definition.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    return isinstance(definition, ast.FunctionDef) and all(isinstance(s, ast.Raise | ast.Pass) for s in body)


@indexed
def names_in_tables(tree: ast.Module) -> dict[str, tuple[ast.Name | ast.Attribute, ...]]:
    """The names that stand in the lists, tuples and dictionaries which a module assigns to names, by these."""
    found: dict[str, tuple[ast.Name | ast.Attribute, ...]] = {}
    for statement in module_statements(tree):
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.List | ast.Tuple | ast.Dict):
            names = of_kinds(statement.value, ast.Name, ast.Attribute)
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    found[target.id] = (*found.get(target.id, ()), *names)
    return found


def named_through_tables(tree: ast.Module, names: Iterable[str]) -> list[ast.Name | ast.Attribute]:
    """The names that stand in tables of a module which ``names`` mean, and in tables that these name."""
    tables = names_in_tables(tree)
    pending = [*dict.fromkeys(names)]
    found: list[ast.Name | ast.Attribute] = []
    for name in pending:  # it grows
        nodes = tables.get(name, ())
        found += nodes
        pending += dict.fromkeys(n.id for n in nodes if isinstance(n, ast.Name) and n.id not in pending)
    return found
