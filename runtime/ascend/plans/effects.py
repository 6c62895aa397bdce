"""Which buffers an expression names, and whether all of each."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from enum import Enum

from .model import Touch

Aliased = Callable[[ast.expr], "str | None"]


class Access(Enum):
    """How an argument names a buffer: all of it, a part, or only an element in an index or a number."""

    WHOLE = "whole"
    PART = "part"
    INDEX = "index"


def buffers_in(node: ast.expr, aliased: Aliased) -> Iterator[tuple[str, Access]]:
    """The buffers in one argument of a call."""
    base = aliased(node)
    if base is not None:
        yield base, _access(node)
        for part in _subscripts(node):
            yield from ((touch.buffer, Access.INDEX) for touch in scalar_reads(part, aliased))
        return
    yield from ((touch.buffer, Access.INDEX) for touch in scalar_reads(node, aliased))


def _access(node: ast.expr) -> Access:
    """A name or a view is all of the buffer, as ``buf[:, :]`` is; any other subscript is a part."""
    while isinstance(node, ast.Subscript):
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if not all(isinstance(i, ast.Slice) and i.lower is None and i.upper is None for i in indices):
            return Access.PART
        node = node.value
    return Access.WHOLE


def _subscripts(node: ast.expr) -> Iterator[ast.expr]:
    while isinstance(node, ast.Subscript):
        yield node.slice
        node = node.value


def scalar_reads(node: ast.expr, aliased: Aliased) -> list[Touch]:
    """A read of each buffer that occurs in ``node``."""
    names = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
    found = dict.fromkeys(base for name in names if (base := aliased(name)) is not None)
    return [Touch(base, True, False) for base in found]


def store_covers(
    node: ast.For, line: int, name: str, shape: tuple[int, ...], variables: tuple[str, ...],
    extents: tuple[object, ...], touch: Touch, aliased: Aliased,
) -> bool:  # fmt: skip
    """Does a loop overwrite all of a buffer: row by row, or by a matmul that begins anew in its first pass?

    ``touch`` is the first of the loop's touches of it, in ``line``, outside of any inner loop. Other statements of the
    loop may name the buffer by the loop's own row only.
    """
    first = next((s for s in node.body if s.lineno <= line <= (s.end_lineno or s.lineno)), None)
    if first is None or len(variables) != 1:
        return False
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Call) and _starts_anew(first.value, variables[0]):
        return aliased(first.value.args[2]) == name if len(first.value.args) > 2 else False
    if touch.reads or not shape or extents != (shape[0],) or not _always_writes(first, name, aliased):
        return False
    return all(_names_own_row(part, name, variables[0], len(shape), aliased) for part in node.body)


def _always_writes(statement: ast.stmt, name: str, aliased: Aliased) -> bool:
    """Does a statement write the buffer, whatever its conditions say?"""
    if isinstance(statement, ast.If):
        sides = (statement.body, statement.orelse)
        return all(any(_always_writes(s, name, aliased) for s in side) for side in sides)
    if isinstance(statement, (ast.For, ast.While, ast.With, ast.Try)):
        return False
    return any(isinstance(n, ast.Name) and aliased(n) == name for n in ast.walk(statement))


def _starts_anew(call: ast.Call, variable: str) -> bool:
    """Does the matmul overwrite its accumulator where the loop variable is 0 (``init=(k == 0)``)?"""
    starts = [k.value for k in call.keywords if k.arg in ("init", "clear_accum")]
    return any(ast.unparse(start) in (f"{variable} == 0", f"0 == {variable}") for start in starts)


def _names_own_row(statement: ast.stmt, name: str, variable: str, rank: int, aliased: Aliased) -> bool:
    """Is every use of the buffer in ``statement`` ``name[variable, :]``?"""
    subscripts = [n for n in ast.walk(statement) if isinstance(n, ast.Subscript) and aliased(n) == name]
    uses = [n for n in ast.walk(statement) if isinstance(n, ast.Name) and aliased(n) == name]
    if len(uses) != len(subscripts):
        return False
    for subscript in subscripts:
        indices = subscript.slice.elts if isinstance(subscript.slice, ast.Tuple) else [subscript.slice]
        rest = indices[1:]
        full = all(isinstance(i, ast.Slice) and i.lower is None and i.upper is None for i in rest)
        if not (isinstance(indices[0], ast.Name) and indices[0].id == variable and full and len(indices) == rank):
            return False
    return True


def is_flat_index(
    node: ast.expr,
    variables: tuple[str, ...],
    extents: tuple[object, ...],
    size: int,
    worth: Callable[[ast.expr], object],
) -> bool:
    """Is ``node`` ``n * step + i``, where ``i`` runs over ``step`` numbers, ``n`` over as many as make ``size``?"""
    if len(variables) != 2 or len(extents) != 2 or not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
        return False
    product, last = node.left, node.right
    if not (isinstance(product, ast.BinOp) and isinstance(product.op, ast.Mult) and isinstance(last, ast.Name)):
        return False
    step, outer = product.right, product.left
    if not isinstance(outer, ast.Name):
        step, outer = outer, step
    named = isinstance(outer, ast.Name) and (outer.id, last.id) == variables
    return named and worth(step) == extents[1] and isinstance(extents[0], int) and extents[0] * extents[1] == size  # type: ignore[operator]  # integers
