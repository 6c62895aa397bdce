"""Python lists of tiles that a kernel of Beta 1 fills itself: the same lists in Beta 2, each tile under a name first.

``[nl.load(...), nl.load(...)]``, ``[nl.ndarray(...) for _ in range(n)]``, ``tiles.append(nl.load(...))``, and lists of
such lists, ``[[nl.ndarray(...) for _ in range(n)] for _ in range(m)]``. The elements are whole tiles of one shape and
type, and the function does nothing with the list but append to it, read an element, measure it and loop over it, so
that what is known of an element is known of all.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from ..analysis.unit_loops import RANGES
from ..expr import algebra
from ..expr.emission import New, Refuse
from ..expr.operands import Operand
from ..expr.values import Declaration, EmptyList, Python, Tile
from ..render.expressions import render
from ..rules.psum_accumulation import written_at_declaration
from ..syntax.codes import LANGUAGE as CODE
from ..syntax.node_index import indexed, of_kinds, walk
from ..syntax.nodes import appended_to, bound_by, parents_of
from .access import operand
from .computations import is_computation
from .declare import creation, declare_listed

if TYPE_CHECKING:
    from ..analysis.scope import Scope

_INDENT = "    "
_READERS = {"len", "enumerate", "zip"}
_COUNTED = RANGES | {"range"}
_ONE_KIND = "make all tiles of a list alike, or give them names of their own"


@dataclass(frozen=True)
class _Element:
    """A tile that a list is to hold: its text, what it is, and the call that makes it, with its fill, if one does."""

    text: str
    tile: Tile
    made: ast.Call | None = None
    fill: str | None = None


def new_list(scope: Scope, name: str, value: ast.expr) -> EmptyList | None:
    """What ``name = []`` binds where the function only fills and reads that list; ``None`` for anything else."""
    empty = isinstance(value, ast.List) and not value.elts
    return EmptyList() if empty and _is_own(scope, name) else None


def appends_tile(scope: Scope, node: ast.Call) -> bool:
    """Is a call ``tiles.append(x)`` to a list of tiles, or to an empty list that may become one?"""
    value = scope.names.env.get(appended_to(node))
    return isinstance(value, EmptyList) or (isinstance(value, Tile) and value.listed)


def append_tile(scope: Scope, node: ast.Call) -> None:
    """Append to such a list. What an empty list gets first decides whether it is one of tiles."""
    name = appended_to(node)
    known = scope.names.env[name]
    found = _element(scope, name, node.args[0], node)
    if found is not None:
        assert isinstance(known, EmptyList | Tile)
        scope.names.env[name] = _joined(scope, node, name, known, found)
        scope.emit(f"{name}.append({found.text})")
        return
    if isinstance(known, Tile):
        raise Refuse(node, CODE, f"'{name}' holds tiles, and something else", _ONE_KIND)
    scope.names.env[name] = Python()
    scope.emit(render(scope, node))


def lists_tiles(scope: Scope, name: str, value: ast.expr) -> bool:
    """Is ``name = value`` a list that is written out, of tiles that are made there or can be those of one list?"""
    if not isinstance(value, ast.List) or not any(_is_made(scope, each) for each in value.elts):
        return False
    return any(_makes_tile(scope, each) for each in value.elts) or _are_alike(scope, name, value.elts)


def tiles_in_list(scope: Scope, statement: ast.stmt, name: str, value: ast.List) -> None:
    """``name = [x, y]`` of tiles."""
    if not _is_own(scope, name):
        raise Refuse(statement, CODE, f"'{name}', a list of tiles, is changed or handed on", "give the tiles names")
    texts: list[str] = []
    known: EmptyList | Tile = EmptyList()
    for each in value.elts:
        found = _element(scope, name, each, statement)
        if found is None:
            raise Refuse(each, CODE, f"'{name}' holds tiles, and something else", _ONE_KIND)
        texts.append(found.text)
        known = _joined(scope, each, name, known, found)
    assert isinstance(known, Tile)
    scope.apply(CODE, statement)
    scope.emit(f"{name} = [{', '.join(texts)}]")
    scope.names.env[name] = replace(known, blocks=(str(len(texts)),))


def makes_tiles(scope: Scope, node: ast.expr) -> bool:
    """Is an expression ``[x for ...]``, of tiles that are made there, or of such lists?"""
    return (
        isinstance(node, ast.ListComp)
        and len(node.generators) == 1
        and not node.generators[0].ifs
        and (_makes_tile(scope, node.elt) or makes_tiles(scope, node.elt))
    )


def loop_of_tiles(
    scope: Scope, node: ast.ListComp, name: str, header: Callable[[ast.ListComp], tuple[list[str], set[str]]]
) -> None:
    """``name = [x for ...]`` of tiles, or of such lists, as loops.

    ``header`` gives the lines of a loop's head, and the names that it binds.
    """
    levels = [node]
    while isinstance(levels[-1].elt, ast.ListComp):
        levels.append(levels[-1].elt)
    if not _is_own(scope, name, len(levels)):
        raise Refuse(node, CODE, f"'{name}', a list of tiles, is changed or handed on", "write a loop that appends")
    saved, around = dict(scope.names.env), scope.output.lines
    heads: list[list[str]] = []
    counts: list[str] = []
    variables: set[str] = set()
    try:
        for depth, level in enumerate(levels):
            lines, bound = header(level)
            counts.append(_count(scope, level.generators[0].iter) or f"len({name}{'[0]' * depth})")
            if _varies(level, variables):
                raise Refuse(level, CODE, f"'{name}' is a list of lists of several lengths", _ONE_KIND)
            heads.append(lines)
            variables |= bound
        scope.output.lines = []
        found = _element(scope, name, levels[-1].elt, node)
        made = scope.output.lines
    finally:
        scope.names.env, scope.output.lines = saved, around
    if found is None:
        raise Refuse(node, CODE, "a list comprehension of tensors", "write a loop that appends to a list")
    known = _joined(scope, node, name, EmptyList(), found, variables)
    scope.names.env[name] = replace(known, blocks=tuple(counts))
    scope.apply(CODE, node)
    rows = [name, *(scope.fresh(f"{name}_row") for _ in heads[1:])]
    body = [*_in_loop(scope, node, made, variables), f"{rows[-1]}.append({found.text})"]
    for depth in reversed(range(len(heads))):
        body = [f"{rows[depth]} = []", *heads[depth], *(f"{_INDENT}{line}" for line in body)]
        body += [f"{rows[depth - 1]}.append({rows[depth]})"] if depth else []
    scope.output.lines.append(New("\n".join(body)))


def _varies(node: ast.ListComp, variables: set[str]) -> bool:
    """Does what a comprehension runs over depend on the comprehensions around it?"""
    return any(name.id in variables for name in of_kinds(node.generators[0].iter, ast.Name))


def _in_loop(scope: Scope, node: ast.ListComp, made: list[New], variables: set[str]) -> list[str]:
    """The lines that make a tile of a list. What they assert is written in front of the loop, where it is the same."""
    for new in made:
        if new.asserts is not None and not variables & algebra.names(new.asserts[0]):
            scope.output.lines.append(new)
        elif new.asserts is not None or new.guard:
            raise Refuse(node, CODE, "a list comprehension of tensors under a condition", "write a loop that appends")
    return [line for new in made if new.asserts is None for line in new.text.split("\n")]


def _count(scope: Scope, iterable: ast.expr) -> str:
    """How often a loop over ``range(n)`` runs; empty for any other loop."""
    plain = isinstance(iterable, ast.Call) and len(iterable.args) == 1 and not iterable.keywords
    if not plain or not isinstance(iterable, ast.Call):
        return ""
    function = iterable.func.id if isinstance(iterable.func, ast.Name) else scope.qualified(iterable.func)
    return render(scope, iterable.args[0]) if function in _COUNTED else ""


def _is_own(scope: Scope, name: str, levels: int = 1) -> bool:
    """Does the function bind a list once, and only fill and read it? One of lists it may only measure and index."""
    filled = _is_only_filled if levels == 1 else partial(_is_only_indexed, levels=levels)
    return scope.names.assigned[name] == 1 and filled(scope.function, name)


def _makes_tile(scope: Scope, node: ast.expr) -> bool:
    return is_computation(scope, node) or creation(scope, node) is not None


def _is_made(scope: Scope, node: ast.expr) -> bool:
    """Is an expression a tile, by itself or under a name?"""
    value = scope.names.env.get(node.id) if isinstance(node, ast.Name) else None
    return isinstance(value, Tile) or _makes_tile(scope, node)


def _are_alike(scope: Scope, name: str, elements: list[ast.expr]) -> bool:
    """Can names be those of the tiles of one list: whole tiles of one kind, which nothing uses under these names?"""
    known: EmptyList | Tile = EmptyList()
    for element in elements:
        view = operand(scope, element) if isinstance(element, ast.Name) else None
        if not isinstance(element, ast.Name) or view is None or not _is_whole_tile(view):
            return False
        assert isinstance(view.value, Tile)
        if _is_used_later(scope.function, element) or _unlike(scope, known, view.value, set()):
            return False
        known = view.value
    return _is_own(scope, name)


def _element(scope: Scope, name: str, node: ast.expr, place: ast.AST) -> _Element | None:
    """A tile that the list ``name`` is to hold; ``None`` for anything but a tensor.

    Raises :class:`Refuse` for a part of a tensor, and for a tile that something else goes on using under its own name.
    """
    if creation(scope, node) is not None and scope.place.statement is not None:
        assert isinstance(node, ast.Call)
        text, tile, fill = declare_listed(scope, name, node, scope.place.statement)
        return _Element(text, tile, node, fill)
    found = scope.evaluator.temporary(scope, node) if is_computation(scope, node) else operand(scope, node)
    if found is None:
        return None
    if not isinstance(found.value, Tile):
        raise Refuse(place, CODE, "a list of tensors in HBM", "give the tensors names")
    if not _is_whole_tile(found):
        reason = "of tiles of unknown shape" if found.dims is None else "of parts of tensors"
        raise Refuse(place, CODE, f"a list {reason}", _ONE_KIND)
    if isinstance(node, ast.Name) and _is_used_later(scope.function, node):
        raise Refuse(place, CODE, f"'{node.id}' is used beside the list that holds it", "read it from the list")
    return _Element(found.text(()), found.value)


def _is_whole_tile(found: Operand) -> bool:
    """Is an operand one whole tile of known shape?"""
    tile = found.value
    whole = found.items is None and found.pattern is None and not found.is_view
    return whole and isinstance(tile, Tile) and not tile.blocks and not tile.optional and found.dims is not None


def _joined(
    scope: Scope,
    node: ast.AST,
    name: str,
    known: EmptyList | Tile,
    element: _Element,
    variables: set[str] | None = None,
) -> Tile:
    """What is known of a list with one more tile. Raises :class:`Refuse` for one that is not as the others are."""
    tile = element.tile
    binding = [bound_by(loop.statement) for loop in scope.place.loops]
    varying = {n for names in binding for n in names if name not in names} | (variables or set())
    unlike = _unlike(scope, known, tile, varying)
    if unlike:
        raise Refuse(node, CODE, f"'{name}' is a list of {unlike}", _ONE_KIND)
    if isinstance(known, Tile):
        declared = known.declaration if element.made is not None else None
        if declared is not None:
            written_at_declaration(scope, declared, element.fill)
        return replace(known, declaration=declared, perhaps_column=known.perhaps_column or tile.perhaps_column)
    dtype = tile.dtype
    if dtype is not None and algebra.names(dtype) & (
        varying | {n for n in scope.names.env if scope.names.assigned[n] > 1}
    ):
        dtype = f"{name}[0].dtype"
    declared = None
    if element.made is not None and tile.space == "psum":
        loops = tuple(loop.statement for loop, names in zip(scope.place.loops, binding, strict=True) if name in names)
        declared = Declaration(name, element.made, loops, False)
        written_at_declaration(scope, declared, element.fill)
    column = tile.perhaps_column
    return Tile(tile.space, tile.dims, dtype, (f"len({name})",), declared, listed=True, perhaps_column=column)


def _unlike(scope: Scope, known: EmptyList | Tile, tile: Tile, varying: set[str]) -> str:
    """In what a tile is not as the others of its list are; empty where it is."""
    changing = {n for size in tile.dims or () for n in algebra.names(size)} & varying
    if changing:
        return f"tiles whose sizes depend on '{min(changing)}'"
    if isinstance(known, EmptyList):
        return ""
    pairs = zip(known.dims or (), tile.dims or (), strict=False)
    same = len(known.dims or ()) == len(tile.dims or ()) and all(scope.equal(a, b) for a, b in pairs)
    same = same and known.space == tile.space and scope.same_dtype(known.dtype, tile.dtype)
    return "" if same else "tiles of different shapes, types or memories"


@indexed
def _is_only_filled(function: ast.FunctionDef, name: str) -> bool:
    """Is a list only appended to by statements of their own, indexed, measured and looped over?"""
    parents = parents_of(function)
    inner = {n for each in of_kinds(function, ast.FunctionDef, ast.Lambda) if each is not function for n in walk(each)}
    loads = [n for n in of_kinds(function, ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)]
    return all(use not in inner and _is_harmless(use, parents) for use in loads)


def _is_only_indexed(function: ast.FunctionDef, name: str, levels: int) -> bool:
    """Are all uses of a list of lists ``name[i][j]``, with an index for each level, or ``len(name)``?"""
    parents = parents_of(function)
    inner = {n for each in of_kinds(function, ast.FunctionDef, ast.Lambda) if each is not function for n in walk(each)}
    for use in of_kinds(function, ast.Name):
        if use.id != name or not isinstance(use.ctx, ast.Load):
            continue
        node: ast.AST = use
        for _ in range(levels):
            parent = parents[node]
            scalar = isinstance(parent, ast.Subscript) and not isinstance(parent.slice, ast.Slice | ast.Tuple)
            indexed_there = scalar and isinstance(parent, ast.Subscript) and parent.value is node
            if not indexed_there or not isinstance(parent, ast.Subscript) or not isinstance(parent.ctx, ast.Load):
                break
            node = parent
        else:
            if use not in inner:
                continue
        call = parents[use]
        measured = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "len"
        if use in inner or not measured:
            return False
    return True


def _is_harmless(use: ast.Name, parents: dict[ast.AST, ast.AST]) -> bool:
    parent = parents[use]
    if isinstance(parent, ast.Subscript):
        scalar = not isinstance(parent.slice, ast.Slice | ast.Tuple)
        return parent.value is use and isinstance(parent.ctx, ast.Load) and scalar
    if isinstance(parent, ast.For):
        return parent.iter is use
    if isinstance(parent, ast.Call):
        return use in parent.args and isinstance(parent.func, ast.Name) and parent.func.id in _READERS
    call = parents.get(parent)
    appends = isinstance(parent, ast.Attribute) and isinstance(call, ast.Call) and appended_to(call) == use.id
    return appends and call is not None and isinstance(parents.get(call), ast.Expr)


@indexed
def _is_used_later(function: ast.FunctionDef, name: ast.Name) -> bool:
    """Is a tile that a list holds read under its own name behind that place, or before it in a loop around?"""
    place = (name.lineno, name.col_offset)
    changed = {n.target for n in of_kinds(function, ast.AugAssign)}
    named = (n for n in of_kinds(function, ast.Name) if n.id == name.id)
    reads = [n for n in named if isinstance(n.ctx, ast.Load) or n in changed]
    behind = any((n.lineno, n.col_offset) > place for n in reads)
    bound = [n for n in of_kinds(function, ast.Name) if n.id == name.id and isinstance(n.ctx, ast.Store)]
    first = min(((n.lineno, n.col_offset) for n in bound), default=place)
    return behind or any((n.lineno, n.col_offset) < first for n in reads)
