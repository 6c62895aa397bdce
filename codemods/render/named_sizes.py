"""Sizes that masks leave, under names: each is written once, in the outermost body in which it does not change.

Two masks with one bound share a size and its name. Where the size of the first is not known any more (it was written in
another loop, or something that it is made of was bound again), it is computed anew, under the same name.
"""

from __future__ import annotations

import ast
import itertools
from typing import TYPE_CHECKING

from ..analysis.kill import kill
from ..expr import algebra
from ..expr.emission import New
from ..expr.values import Python
from ..syntax.names import dotted
from ..syntax.node_index import of_kinds
from ..syntax.nodes import SIMPLE, blocks, bound_by, written_names
from .vector_sizes import bound_sizes

if TYPE_CHECKING:
    from ..analysis.scope import Scope


def named_size(scope: Scope, hint: str, text: str, key: str = "") -> str:
    """A name for the size ``text``: the one that it has already, or a new one like ``hint``.

    It is computed in front of the outermost loop that does not change it, or of the statement at hand. ``key`` is the
    size in the form that all its spellings have in common.
    """
    key = key or scope.canonical(text)
    if key in scope.sizes.named:
        return scope.sizes.named[key]
    name = scope.sizes.hinted.get((hint, key))
    if name is None:
        name = scope.sizes.hinted[hint, key] = scope.fresh(hint)
    else:
        scope.names.assigned[name] = 2
        kill(scope, name)
    depth = _outermost(scope, text)
    if depth == len(scope.place.blocks) - 1:
        scope.output.lines.append(New(f"{name} = {text}"))
    else:
        loop, before = _holder(scope, depth + 1), scope.module.plan.edits.before
        scope.draft.put(before, loop, [*before.get(loop, []), New(f"{name} = {text}", ahead=True)])
    scope.sizes.named[key] = name
    scope.sizes.depths[name] = depth
    scope.names.env[name] = Python()
    return name


def sizes_behind(scope: Scope, sizes: dict[str, str]) -> dict[str, str]:
    """The sizes that have a name behind the block at hand: ``sizes``, which had one before it, and those around it."""
    depth = len(scope.place.blocks) - 1
    around = {key: name for key, name in scope.sizes.named.items() if scope.sizes.depths.get(name, depth) < depth}
    return sizes | around


def _holder(scope: Scope, depth: int) -> ast.stmt:
    """The statement that the block of a depth is a part of (0 is the function's own)."""
    block = scope.place.blocks[depth]
    return next(s for s in scope.place.blocks[depth - 1] if any(block is other for other in blocks(s)))


def _outermost(scope: Scope, text: str) -> int:
    """The depth of the outermost block that can hold a size: there is nothing but loops that keep it in between."""
    depth = len(scope.place.blocks) - 1
    inner = {n for c in _comprehensions(scope) for n in bound_by(c.target)}
    names = algebra.names(text)
    if not _is_plain(scope, algebra.parse(text)) or names & inner:
        return depth
    while depth and isinstance(loop := _holder(scope, depth), ast.For | ast.While):
        changes = names & (bound_by(loop) | bound_sizes(scope, loop))
        if changes or not all(_is_bound(scope, name, depth - 1) for name in names):
            break
        depth -= 1
    return depth


def _comprehensions(scope: Scope) -> list[ast.comprehension]:
    return list(of_kinds(scope.place.statement, ast.comprehension)) if scope.place.statement is not None else []


def _is_bound(scope: Scope, name: str, depth: int) -> bool:
    """Does a name certainly have a value in the block of a depth, where the loop at hand stands in it?"""
    if name in scope.sizes.depths:
        return scope.sizes.depths[name] <= depth
    name = next((vector for vector, size in scope.sizes.resized.items() if size == name), name)
    if name in scope.names.assigned:
        parameters = {argument.arg for argument in of_kinds(scope.function.args, ast.arg)}
        return name in parameters or any(name in _bound_before(scope, at) for at in range(depth + 1))
    return name in written_names(scope.outermost) or name not in scope.module.local_names(scope.outermost)


def _bound_before(scope: Scope, depth: int) -> set[str]:
    """The names that the block of a depth always binds before the one in it, with the target of its loop."""
    holder = _holder(scope, depth) if depth else None
    found = set(bound_by(holder.target)) if isinstance(holder, ast.For) else set()
    inner = _holder(scope, depth + 1)
    for statement in itertools.takewhile(lambda s: s is not inner, scope.place.blocks[depth]):
        found |= bound_by(statement) if isinstance(statement, SIMPLE) else set()
    return found


def _is_plain(scope: Scope, node: ast.expr) -> bool:
    """Is an expression of numbers that nothing changes in place, and that is computed without fail?"""
    parts = _parts(scope, node)
    return parts is not None and all(_is_plain(scope, part) for part in parts)


def _parts(scope: Scope, node: ast.expr) -> list[ast.expr] | None:
    """What a computation of numbers, which cannot fail, is made of; ``None`` for any other expression."""
    match node:
        case ast.Name() | ast.Constant() | ast.Subscript(ast.Attribute(ast.Name(), "shape"), ast.Constant()):
            return []
        case ast.Attribute() if (chain := dotted(node)) is not None and chain[0] in scope.module.symbols.imports:
            return []
        case ast.Call(ast.Name("min" | "max"), numbers, []):
            return numbers
        case ast.BinOp(left, ast.Add() | ast.Sub() | ast.Mult(), right):
            return [left, right]
        case ast.BinOp(left, ast.FloorDiv() | ast.Mod(), right) if scope.constant(ast.unparse(right)):
            return [left]
        case ast.UnaryOp(ast.USub(), operand):
            return [operand]
        case ast.IfExp(test, body, orelse):
            return [test, body, orelse]
        case ast.Compare(left, _, others):
            return [left, *others]
        case _:
            return None
