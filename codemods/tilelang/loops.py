"""The loops around a node."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .module import Module


def loops_around(module: Module, node: ast.AST) -> Iterator[ast.For | ast.While]:
    """The loops of the same function, innermost first."""
    at = module.parents.get(node)
    while at is not None and not isinstance(at, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        if isinstance(at, (ast.For, ast.While)):
            yield at
        at = module.parents.get(at)


def parallel_names(module: Module, node: ast.AST) -> set[str]:
    """The variables of the ``T.Parallel`` loops around ``node``."""
    found = set()
    for loop in loops_around(module, node):
        if isinstance(loop, ast.For) and is_parallel(module, loop):
            found |= {name.id for name in ast.walk(loop.target) if isinstance(name, ast.Name)}
    return found


def is_parallel(module: Module, loop: ast.For) -> bool:
    """Does the loop run over ``T.Parallel`` (``T.parallel`` is another thing)?"""
    return isinstance(loop.iter, ast.Call) and module.member(loop.iter.func) == "Parallel"
