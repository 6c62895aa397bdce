"""A launch in two steps: ``launch = kernel[grid]``, and calls of ``launch`` further down."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...project.host import Owner, assigned
from ...syntax.node_index import of_kinds, walk
from ...syntax.nodes import blocks


def calls_of_stored(owner: Owner, subscript: ast.Subscript) -> tuple[ast.Call, ...]:
    """The calls of the name that ``kernel[grid]`` is assigned to; none where they may not be all, or the grid changes.

    They stand behind the assignment, in its block. Attributes may be read of the name if the owner launches
    the kernel in no other way: without the subscript they are those of the kernel itself.
    """
    name, later = _stored(owner, subscript)
    if not name:
        return ()
    calls = [n for n in later if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == name]
    if len(assigned(owner, name)) != 1 or _is_read_otherwise(owner, subscript, name, calls):
        return ()
    kept = {n.id for n in of_kinds(subscript.slice, ast.Name)}
    changed = {n.id for n in later if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    deferred = any(isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) for n in later)
    return () if deferred or kept & changed else tuple(calls)


def _stored(owner: Owner, subscript: ast.Subscript) -> tuple[str, list[ast.AST]]:
    """The one name that ``kernel[grid]`` is assigned to (or nothing), and all that stands behind in its block."""
    found = next(((s, rest) for s, rest in _assignments(owner) if s.value is subscript), None)
    if found is None:
        return "", []
    names = [target.id for target in found[0].targets if isinstance(target, ast.Name)]
    is_one = len(names) == len(found[0].targets) == 1
    return (names[0], [node for statement in found[1] for node in walk(statement)]) if is_one else ("", [])


def _is_read_otherwise(owner: Owner, subscript: ast.Subscript, name: str, calls: list[ast.Call]) -> bool:
    """Is ``name`` read by anything but ``calls``, and by attributes of it where the kernel has no other launch?"""
    nodes = list(walk(owner))
    bases = {n.value for n in nodes if isinstance(n, ast.Attribute)} if _is_only_one(nodes, subscript) else set()
    reads = {n for n in nodes if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)}
    return not reads <= {call.func for call in calls} | bases


def _assignments(owner: Owner) -> Iterator[tuple[ast.Assign, list[ast.stmt]]]:
    """The assignments of a function or module, each with the statements that follow it in its block."""
    for block in (block for node in walk(owner) for block in blocks(node)):
        for number, statement in enumerate(block, start=1):
            if isinstance(statement, ast.Assign):
                yield statement, block[number:]


def _is_only_one(nodes: list[ast.AST], subscript: ast.Subscript) -> bool:
    """Is what a subscript is of named nowhere else?"""
    name = subscript.value.id if isinstance(subscript.value, ast.Name) else ""
    return sum(isinstance(n, ast.Name) and n.id == name for n in nodes) == 1
