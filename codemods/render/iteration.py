"""Loops over ``zip``, ``enumerate``, ``np.ndindex``, as loops over an index; loops with several variables, with one."""

from __future__ import annotations

import ast
from collections.abc import Set
from dataclasses import replace

from ..analysis.aliases import CHANGING
from ..analysis.name_views import parameter_value
from ..analysis.scope import Scope
from ..expr import algebra
from ..expr.emission import New, Refuse
from ..expr.values import Hbm, Python, Tensors, Tile, Value
from ..syntax.codes import LANGUAGE as CODE
from ..syntax.node_index import of_kinds, walk
from ..syntax.nodes import bound_by, is_shape
from .expressions import render

BOX = "np.ndindex"
_HELP = "loop over range(...) and index"


def index_loop(scope: Scope, statement: ast.For, call: ast.Call) -> None:
    """Plan ``for i in range(len(a)):`` for ``for i, x in enumerate(a):``, with the elements bound in the body.

    Raises :class:`Refuse` for anything that cannot be indexed, or that the body changes.
    """
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    target = statement.target
    if call.keywords or not call.args or not isinstance(target, ast.Tuple) or name not in ("enumerate", "zip"):
        raise Refuse(call, CODE, f"a loop over {name}(...)", _HELP)
    sources = [_sequence(scope, statement, argument) for argument in call.args]
    if name == "enumerate":
        index, elements = target.elts[0], target.elts[1:]
        if len(sources) != 1 or len(elements) != 1 or not isinstance(index, ast.Name):
            raise Refuse(call, CODE, "a loop over enumerate(...)", _HELP)
        number = index.id
    else:
        elements, number = target.elts, scope.fresh("index")
    if len(elements) != len(sources):
        raise Refuse(call, CODE, f"a loop over {name}(...)", _HELP)
    scope.apply(CODE, statement)
    edits = scope.module.plan.edits
    edits.expressions[target], edits.expressions[call] = number, f"range({shortest(sources)})"
    bound = [f"{scope.source.segment(e)} = {source}[{number}]" for e, source in zip(elements, sources, strict=True)]
    edits.prologue.setdefault(statement, []).extend(New(text) for text in bound)


def shortest(sources: list[str]) -> str:
    """The least number of elements of some sequences (``min`` of Beta 2 takes two numbers, or a list)."""
    sizes = ", ".join(f"len({source})" for source in sources)
    return f"min({sizes})" if len(sources) == 2 else f"min([{sizes}])" if len(sources) > 2 else sizes


def index_of_box(scope: Scope, statement: ast.For, call: ast.Call) -> None:
    """Plan ``for k in range(a * b):`` for ``for i, j in np.ndindex(a, b):``; the body computes ``i`` and ``j``.

    Raises :class:`Refuse` where the variables are not one for each size, or a size may change while the loop runs.
    """
    target = statement.target
    names = [n.id for n in target.elts if isinstance(n, ast.Name)] if isinstance(target, ast.Tuple) else []
    bound = bound_by(statement)
    steady = not call.keywords and all(_is_steady_size(size, bound) for size in call.args)
    sizes = [algebra.paren(render(scope, size)) for size in call.args] if steady else []
    steady = steady and not any(algebra.names(size) & bound for size in sizes)  # what a size of a tensor is made of
    if not isinstance(target, ast.Tuple) or not len(names) == len(target.elts) == len(call.args) or not steady:
        raise Refuse(call, CODE, "a loop over np.ndindex(...)", "write one loop over range(...) for each size")
    scope.apply(CODE, statement)
    number = scope.fresh("index")
    edits = scope.module.plan.edits
    edits.expressions[target], edits.expressions[call] = number, f"range({' * '.join(sizes)})"
    edits.prologue.setdefault(statement, []).extend(
        New(f"{name} = {_coordinate(number, sizes, place)}") for place, name in enumerate(names)
    )


def _coordinate(number: str, sizes: list[str], place: int) -> str:
    """One index of the element ``number`` of a box that is counted row by row, as NumPy counts it."""
    behind = sizes[place + 1 :]
    block = f"({' * '.join(behind)})" if len(behind) > 1 else "".join(behind)
    row = f"{number} // {block}" if block else number
    return f"{row} % {sizes[place]}" if place else row


def _is_steady_size(size: ast.expr, bound: Set[str]) -> bool:
    """Is ``size`` one number throughout: made of numbers, sizes of tensors, and names that are not ``bound``?"""
    if isinstance(size, ast.BinOp):
        return _is_steady_size(size.left, bound) and _is_steady_size(size.right, bound)
    if isinstance(size, ast.Subscript):
        constant = isinstance(size.slice, ast.Constant)
        return constant and is_shape(size.value) and _is_steady_size(size.value.value, bound)
    return isinstance(size, ast.Constant) or (isinstance(size, ast.Name) and size.id not in bound)


def unpack(scope: Scope, statement: ast.For) -> None:
    """``for a, b in pairs:``, of which Beta 2 takes one variable: the body takes it apart."""
    target = statement.target
    if not isinstance(target, ast.Tuple | ast.List) or not all(isinstance(n, ast.Name) for n in target.elts):
        return
    scope.apply(CODE, statement)
    item = scope.fresh("item")
    edits = scope.module.plan.edits
    edits.expressions[target] = item
    edits.prologue.setdefault(statement, []).append(New(f"{scope.source.segment(target)} = {item}"))


def element_kinds(scope: Scope, statement: ast.For) -> dict[str, Value]:
    """What the names are that such a loop binds: tiles of lists of tiles, numbers where all its sequences hold some."""
    call = statement.iter
    assert isinstance(call, ast.Call) and isinstance(statement.target, ast.Tuple)
    if scope.qualified(call.func) == BOX:
        return {n.id: Python() for n in of_kinds(statement.target, ast.Name)}
    names = {n.id for argument in call.args for n in of_kinds(argument, ast.Name)}
    python = all(isinstance(scope.names.env.get(n), Python) or is_list_of_tiles(scope.names.env.get(n)) for n in names)
    bound = [n.id for n in of_kinds(statement.target, ast.Name)]
    elements = zip(statement.target.elts[-len(call.args) :], call.args, strict=True)
    tiles = {k: v for element, source in elements for k, v in tile_of(scope, element, source).items()}
    return {name: Python() if python else Value() for name in bound} | tiles


def tile_of(scope: Scope, element: ast.expr, source: ast.expr) -> dict[str, Value]:
    """What a loop binds a name to that takes the tiles of a list, or tensors, one by one; nothing for other loops."""
    value = scope.names.env.get(source.id) if isinstance(source, ast.Name) else None
    if isinstance(element, ast.Name) and isinstance(value, Tensors):
        return {element.id: Hbm(None, f"{element.id}.dtype")}
    if not isinstance(element, ast.Name) or not isinstance(value, Tile) or not is_list_of_tiles(value):
        return {}
    tile = parameter_value(element.id, value.block())
    return {element.id: replace(tile, declaration=value.declaration) if isinstance(tile, Tile) else tile}


def is_list_of_tiles(value: Value | None) -> bool:
    """Is it a list of tiles that the kernel itself has made? (A tensor with blocks cannot be iterated over.)"""
    listed = isinstance(value, Tile) and bool(value.blocks) and value.style == "list"
    return listed and isinstance(value, Tile) and (value.listed or value.declaration is None)


def _sequence(scope: Scope, statement: ast.For, node: ast.expr) -> str:
    """A list or tuple that keeps its elements while the loop runs, as text."""
    value = scope.names.env.get(node.id) if isinstance(node, ast.Name) else None
    if not isinstance(node, ast.Name) or (isinstance(value, Tile | Hbm) and not is_list_of_tiles(value)):
        raise Refuse(node, CODE, "a loop over a sequence that is no list with a name", "give it a name first")
    for inner in (n for s in statement.body for n in walk(s)):
        stored = isinstance(inner, ast.Name) and inner.id == node.id and isinstance(inner.ctx, ast.Store)
        holder = inner.value if isinstance(inner, ast.Subscript | ast.Attribute) else None
        changed = isinstance(holder, ast.Name) and holder.id == node.id and _changes(inner)
        if stored or changed:
            raise Refuse(node, CODE, f"'{node.id}' changes while a loop runs over it", _HELP)
    return render(scope, node)


def _changes(node: ast.AST) -> bool:
    """Is an access to a sequence one that changes it?"""
    if isinstance(node, ast.Attribute):
        return node.attr in CHANGING
    return isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del)
