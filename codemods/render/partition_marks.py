"""Which size of a shape ``par_dim`` marks as its partition dimension: in the shape, or under a name.

Beta 2 has no such mark, so that a size or a shape under a name loses it: what stands before the mark, the block
dimensions, is told by what the names were given.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..analysis.scope import Scope
from ..expr.emission import Refuse
from ..syntax import codes
from ..syntax.given_values import given_values
from ..syntax.node_index import of_kinds
from ..syntax.nodes import parents_of

if TYPE_CHECKING:
    from ..project.program import Module, Program

_MARK = "nl.par_dim"
_DISPLAYS = (ast.Tuple, ast.List)


def is_mark(scope: Scope, node: ast.expr) -> bool:
    """Is a size ``par_dim(...)`` itself?"""
    return isinstance(node, ast.Call) and scope.qualified(node.func) == _MARK


def marked(scope: Scope, sizes: Sequence[ast.expr]) -> int | None:
    """The number of the last size that ``par_dim`` marks; ``None`` where no size is marked.

    Raises :class:`Refuse` where a size but the first may be marked, and nothing tells: dimensions would be blocks.
    """
    found = None
    for d, size in enumerate(sizes):
        is_marked = _is_marked(scope, size, frozenset())
        if is_marked is None and d > 0:
            what = f"it is not known whether '{ast.unparse(size)}' has the mark of par_dim"
            raise Refuse(size, codes.BLOCK_DIMENSIONS, what, "write nl.par_dim(...) in the shape that it marks")
        found = d if is_marked else found
    return found


def marked_shape(scope: Scope, name: str) -> tuple[int | None, bool]:
    """What number ``par_dim`` marks of the sizes of the shape that ``name`` stands for, and whether that is known."""
    shapes = [value for value in _given(scope, name) if isinstance(value, _DISPLAYS)]
    numbers = {marked(scope, shape.elts) for shape in shapes}
    return (numbers.pop(), True) if len(numbers) == 1 else (None, not numbers)


def _is_marked(scope: Scope, node: ast.expr, seen: frozenset[str]) -> bool | None:
    """Is a size marked, under a name or not? ``None`` where nothing tells."""
    if is_mark(scope, node):
        return True
    match node:
        case ast.Name(id=name) if name not in seen:
            kinds = {_is_marked(scope, value, seen | {name}) for value in _given(scope, name)}
            if len(kinds) == 1:
                return kinds.pop()
            return None if kinds else _may_be_given(scope, name)
        case ast.IfExp(body=first, orelse=second):
            kinds = {_is_marked(scope, side, seen) for side in (first, second)}
            return kinds.pop() if len(kinds) == 1 else None
        case ast.Attribute(attr="shape") | ast.Subscript(value=ast.Attribute(attr="shape")):
            return False
        case ast.Call(func=function) if scope.qualified(function) is not None:
            return False
        case ast.Call() | ast.Attribute() | ast.Subscript():
            return None if scope.module.program.fact(_hand_out_marks) else False
    return False


def _may_be_given(scope: Scope, name: str) -> bool | None:
    """Is a parameter marked, which has no default? ``None`` where it may be."""
    is_parameter = any(argument.arg == name for argument in of_kinds(scope.function.args, ast.arg))
    return None if is_parameter and scope.module.program.fact(_hand_out_marks) else False


def _given(scope: Scope, name: str) -> tuple[ast.expr, ...]:
    own = name in scope.names.assigned
    return given_values(scope.function if own else scope.module.source.tree, name)


def _hand_out_marks(program: Program) -> bool:
    """Does any module use ``par_dim`` otherwise than in a shape, or for a name?"""
    return any(True for module in program.modules.values() for _ in _marks_elsewhere(module))


def _marks_elsewhere(module: Module) -> Iterator[ast.Call]:
    parents = parents_of(module.source.tree)
    for call in of_kinds(module.source.tree, ast.Call):
        if module.symbols.host_name(call.func) == _MARK and not isinstance(parents[call], (*_DISPLAYS, ast.Assign)):
            yield call
