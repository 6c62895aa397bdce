"""What a function asserts of the rank of a parameter before it uses it: ``assert len(x.shape) == 3``.

The rules from Beta 1 write such an assertion wherever the text depends on it, and authors do, too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..syntax.nodes import blocks, is_shape
from .bindings import binder, bindings, parameters
from .rung import Rung


def asserted_rank(rung: Rung, name: ast.Name) -> int | None:
    """The rank that an assertion, which runs before ``name`` is read, leaves a parameter that nothing binds again."""
    function = binder(rung, name)
    if not isinstance(function, ast.FunctionDef) or name.id not in parameters(function):
        return None
    if bindings(rung, function)[name.id]:
        return None
    for statement in rung.of_kinds((ast.Assert,)):
        if not isinstance(statement, ast.Assert) or rung.function(statement) is not function:
            continue
        for test in _conditions(statement.test):
            rank = _rank(test, name.id)
            if rank is not None and _runs_before(rung, statement, name):
                return rank
    return None


def _conditions(test: ast.expr) -> Iterator[ast.expr]:
    """What holds if ``test`` does."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for value in test.values:
            yield from _conditions(value)
    else:
        yield test


def _rank(test: ast.expr, name: str) -> int | None:
    """``3`` for ``len(name.shape) == 3``."""
    match test:
        case ast.Compare(
            left=ast.Call(func=ast.Name(id="len"), args=[shape], keywords=[]),
            ops=[ast.Eq()],
            comparators=[ast.Constant(value=int(rank))],
        ) if (
            is_shape(shape) and isinstance(shape.value, ast.Name) and shape.value.id == name
        ):
            return rank
    return None


def _runs_before(rung: Rung, statement: ast.Assert, node: ast.AST) -> bool:
    """Is ``node`` inside of a statement that follows ``statement`` in its block?"""
    block, above = rung.parents[statement], rung.parents.get(node)
    while above is not None and above is not block:
        node, above = above, rung.parents.get(above)
    suites = blocks(block) if above is not None else ()
    return any(statement in suite and node in suite[suite.index(statement) + 1 :] for suite in suites)
