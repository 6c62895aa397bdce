"""The statements of a kernel as the compiler's passes leave them before memory is planned.

What changes lifetimes is followed: stores of an element to itself go, a branch without ``else`` becomes one for each of
its statements (``IfStmtBinding``), loops that run once are their bodies, and a loop of nothing but branches on one
condition that the loop does not change is a branch around the loop (``LoopUnswitching``).

Source: ``tilelang/cuda/pipeline.py`` and the passes that it names, of the wheel 0.1.15.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from .ir import Bind, Buffer, Expr, For, If, Load, Region, Stmt, Store, Var


def canonical(body: Sequence[Stmt]) -> list[Stmt]:
    """The statements of one block after those passes."""
    return _unswitched(_without_single_trips(_reachable(_split(body), ())))


def _split(body: Sequence[Stmt]) -> list[Stmt]:
    """Branches without ``else``, one for each of their statements."""
    found: list[Stmt] = []
    for statement in body:
        if isinstance(statement, For):
            found.append(replace(statement, body=_split(statement.body)))
        elif isinstance(statement, If):
            then, other = _split(statement.body), _split(statement.orelse)
            if other or any(isinstance(each, Bind) for each in then):
                found.append(replace(statement, body=then, orelse=other))
            else:
                found += [replace(statement, body=[each], orelse=[]) for each in then]
        else:
            found.append(statement)
    return found


def _reachable(body: Sequence[Stmt], known: tuple[Expr, ...]) -> list[Stmt]:
    """The statements without branches that a branch around them, on another value of the same variable, rules out."""
    found: list[Stmt] = []
    for statement in body:
        if isinstance(statement, For):
            found.append(replace(statement, body=_reachable(statement.body, known)))
        elif isinstance(statement, If):
            condition = statement.condition
            is_equation = isinstance(condition, Expr) and condition.op == "eq" and isinstance(condition.args[1], int)
            if is_equation and any(_excludes(each, condition) for each in known):
                found += _reachable(statement.orelse, known)
                continue
            more = (*known, condition) if is_equation else known
            then, other = _reachable(statement.body, more), _reachable(statement.orelse, known)
            found.append(replace(statement, body=then, orelse=other))
        else:
            found.append(statement)
    return found


def _excludes(known: Expr, condition: Expr) -> bool:
    return known.args[0] is condition.args[0] and bool(known.args[1] != condition.args[1])


def _without_single_trips(body: Sequence[Stmt]) -> list[Stmt]:
    """The statements without loops that run once."""
    found: list[Stmt] = []
    for statement in body:
        if isinstance(statement, For):
            inner = _without_single_trips(statement.body)
            once = all(isinstance(extent, int) and extent == 1 for extent in statement.extents)
            found += inner if once and statement.kind != "Parallel" else [replace(statement, body=inner)]
        elif isinstance(statement, If):
            then, other = _without_single_trips(statement.body), _without_single_trips(statement.orelse)
            found.append(replace(statement, body=then, orelse=other))
        else:
            found.append(statement)
    return found


def _unswitched(body: Sequence[Stmt]) -> list[Stmt]:
    """Loops of branches as branches of loops; what does nothing is left out."""
    found: list[Stmt] = []
    for statement in body:
        if isinstance(statement, Store) and _is_no_op(statement):
            continue
        if isinstance(statement, For):
            inner = _unswitched(statement.body)
            found += [_hoisted(statement, inner)] if inner else []
        elif isinstance(statement, If):
            then, other = _unswitched(statement.body), _unswitched(statement.orelse)
            found += [replace(statement, body=then, orelse=other)] if then or other else []
        else:
            found.append(statement)
    return found


def _hoisted(loop: For, body: list[Stmt]) -> Stmt:
    conditions = [each.condition for each in body if isinstance(each, If) and not each.orelse]
    every = loop.kind != "Parallel" and len(conditions) == len(body)
    if not every or not all(same(each, conditions[0]) for each in conditions) or _depends(conditions[0], loop):
        return replace(loop, body=body)
    inner = [each for branch in body if isinstance(branch, If) for each in branch.body]
    return If(conditions[0], [replace(loop, body=inner)], [], place=loop.place)


def _is_no_op(store: Store) -> bool:
    """Does a store write what is there?"""
    stored = store.stored
    while isinstance(stored, Expr) and stored.op == "cast" and isinstance(stored.args[0], Expr):
        if stored.args[0].dtype != stored.dtype:
            return False
        stored = stored.args[0]
    return isinstance(stored, Load) and stored.buffer is store.buffer and same(stored.indices, store.indices)


def same(left: Any, right: Any) -> bool:
    """Are two expressions the same one?"""
    if left is right:
        return True
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, (Var, Buffer)) or isinstance(right, (Var, Buffer)):
        return False
    if isinstance(left, Expr) and isinstance(right, Expr):
        return left.op == right.op and left.dtype == right.dtype and same(left.args, right.args)
    if isinstance(left, Expr) or isinstance(right, Expr):
        return False
    return type(left) is type(right) and bool(left == right)


def _depends(condition: Any, loop: For) -> bool:
    """May the loop change a condition: by its variables, or by what it writes?"""
    inside = list(parts(condition))
    variables = any(part is variable for part in inside for variable in loop.vars)
    return variables or any(isinstance(part, Load) or (isinstance(part, Expr) and part.op in _CALLS) for part in inside)


_CALLS = ("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "pow", "sin", "cos", "tanh", "floor", "ceil")


def parts(expression: Any) -> Iterator[Any]:
    """An expression and all that it is made of."""
    yield expression
    if isinstance(expression, Region):
        expression = (*expression.starts, *expression.extents)
    if isinstance(expression, tuple):
        for each in expression:
            yield from parts(each)
    elif isinstance(expression, Expr) and not isinstance(expression, Buffer):
        for each in expression.args:
            yield from parts(each)
