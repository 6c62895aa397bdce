"""What names of a file mean: which of them are TileLang's language, whatever they are called."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from nki_migrate.runtime.spec.tilelang import NAMES

ROOT = "tilelang"
LANGUAGE = "tilelang.language"
_DIALECTS = tuple(f"tilelang.{name}.language" for name in ("cuda", "cpu", "rocm", "metal"))
_PARTS = ("allocate", "reduce", "reduce_op", "fill", "fill_op", "copy", "copy_op", "proxy", "builtin", "symbolics")
"""Modules of ``tilelang.language`` whose names the language has, too."""
OTHER = "?"
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Block = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef


@dataclass
class Names:
    """The names that one block (module, function, class) binds: each with the dotted path of each import, or ``?``."""

    block: Block
    outer: Names | None
    bound: dict[str, set[str]] = field(default_factory=dict)
    star: bool = False

    def bind(self, name: str, path: str = OTHER) -> None:
        self.bound.setdefault(name, set()).add(path)

    def of(self, name: str) -> set[str]:
        """The paths that ``name`` may have where this block reads it; ``{"?"}`` for anything that is no import."""
        scope: Names | None = self
        first = True
        while scope is not None:
            if (first or not isinstance(scope.block, ast.ClassDef)) and name in scope.bound:
                return scope.bound[name]
            if scope.star and name in NAMES and scope.outer is None:
                return {f"{LANGUAGE}.{name}"}
            scope, first = scope.outer, False
        return {OTHER}


def names_of(tree: ast.Module) -> dict[ast.AST, Names]:
    """For each node of a module the block whose names it sees."""
    found: dict[ast.AST, Names] = {}
    _walk(tree, Names(tree, None), found)
    return found


def _walk(node: ast.AST, names: Names, found: dict[ast.AST, Names]) -> None:
    found[node] = names
    _bind(node, names)
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        inner = Names(node, names)
        for parameter in _parameters(node.args):
            inner.bind(parameter.arg)
        for child in ast.iter_child_nodes(node):
            own = child in _body(node) or isinstance(child, ast.arguments)
            if isinstance(child, ast.arguments):
                _walk_arguments(child, names, inner, found)
            else:
                _walk(child, inner if own else names, found)
        return
    if isinstance(node, ast.ClassDef):
        inner = Names(node, names)
        for child in ast.iter_child_nodes(node):
            _walk(child, inner if child in node.body else names, found)
        return
    for child in ast.iter_child_nodes(node):
        _walk(child, names, found)


def _walk_arguments(node: ast.arguments, names: Names, inner: Names, found: dict[ast.AST, Names]) -> None:
    """Annotations and defaults see the names outside of the function."""
    found[node] = inner
    for child in ast.iter_child_nodes(node):
        _walk(child, names, found)


def _body(node: Function) -> list[ast.AST]:
    return [node.body] if isinstance(node, ast.Lambda) else list(node.body)


def _parameters(arguments: ast.arguments) -> Iterator[ast.arg]:
    yield from (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    yield from (each for each in (arguments.vararg, arguments.kwarg) if each is not None)


def _bind(node: ast.AST, names: Names) -> None:
    if isinstance(node, ast.Import):
        for alias in node.names:
            names.bind(
                alias.asname or alias.name.split(".")[0], alias.name if alias.asname else alias.name.split(".")[0]
            )
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            if alias.name == "*":
                names.star = names.star or (not node.level and canonical(f"{node.module}.") == "T.")
            else:
                names.bind(alias.asname or alias.name, OTHER if node.level else f"{node.module}.{alias.name}")
    elif isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
        names.bind(node.id)
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler)) and node.name:
        names.bind(node.name)


def canonical(path: str) -> str | None:
    """``T.alloc_var`` for any path of a name of the language, ``T`` for the language itself, else ``None``."""
    for prefix in (LANGUAGE, *_DIALECTS):
        if path == prefix:
            return "T"
        if path.startswith(f"{prefix}."):
            parts = path[len(prefix) + 1 :].split(".")
            if len(parts) > 1 and parts[0] in _PARTS:
                parts = parts[1:]
            return ".".join(["T", *parts])
    return None


def dotted(node: ast.AST) -> list[str] | None:
    """The parts of ``a.b.c``; ``None`` for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return [node.id, *reversed(parts)]
