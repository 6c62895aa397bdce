"""A tile of its own for what may be a part of a tensor: Beta 2 cannot cut a part of a tensor again.

Where the source does not tell whether a name is a tile or a part of a tensor (a helper returns the one or the other),
an instruction that reads ``v[:, 0:64]`` reads that of a copy. The copy stands before the outermost loop that does not
bind the name, nor writes to it by that name: *review*, because something else may write to the tensor meanwhile.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from ..expr.emission import New, Refuse
from ..expr.tables import parameters
from ..expr.values import Tile
from ..render.patterns import of_name
from ..syntax import codes
from ..syntax.node_index import of_kinds, walk
from ..syntax.nodes import bound_by

if TYPE_CHECKING:
    from ..analysis.scope import Scope
    from ..expr.operands import Operand

CODE = codes.INDEX_VECTORS
_WRITTEN = ("dst", "reduce_res", "out")


def own_tile(scope: Scope, node: ast.Subscript, view: Operand) -> Operand:
    """A tile with the elements of ``view``, of which ``node`` takes a part; raises :class:`Refuse` if none can be."""
    name, value = view.base, view.value
    what = f"a part of '{name}', which may be a part of a tensor itself: the source does not tell which"
    known = isinstance(value, Tile) and value.space == "sbuf" and value.dims is not None and not value.optional
    if not known or not name.isidentifier() or scope.memory.direct or not _is_read(scope, node):
        raise Refuse(node, CODE, what, "copy it to a tile of its own first, or take the part of the tensor")
    if not scope.module.options.unsafe:
        help = "--unsafe copies it to a tile of its own: right if nothing else writes to the tensor meanwhile"
        raise Refuse(node, CODE, what, help, "review")
    scope.apply(CODE, node)
    loop = next((loop for loop in scope.place.loops if not _changes(loop.statement, name)), None)
    place = loop.statement if loop is not None else None
    if (name, place) not in scope.names.copied or place is None:
        copied = scope.fresh(f"{name}_copy")
        lines = [
            f"{copied} = {scope.nl}.ndarray({name}.shape, dtype={name}.dtype, buffer={scope.nl}.sbuf)",
            f"{scope.nisa}.tensor_copy(dst={copied}, src={name})",
        ]
        (scope.output.lines if place is None else scope.module.plan.edits.before.setdefault(place, [])).extend(
            map(New, lines)
        )
        scope.names.copied[name, place] = copied
    assert isinstance(value, Tile)
    own = replace(value, view=False, origin=None, declaration=None)
    return of_name(scope, scope.names.copied[name, place], own)


def _is_read(scope: Scope, node: ast.Subscript) -> bool:
    """Is a subscript the argument of an instruction that does not write to it?"""
    for call in walk(scope.place.statement) if scope.place.statement is not None else ():
        function = (scope.qualified(call.func) or "") if isinstance(call, ast.Call) else ""
        if not isinstance(call, ast.Call) or not function.startswith(("nl.", "nisa.")):
            continue
        named = dict(zip(parameters(function), call.args, strict=False))
        named |= {k.arg: k.value for k in call.keywords if k.arg is not None}
        for parameter, argument in named.items():
            if argument is node:
                return not parameter.startswith(_WRITTEN)
    return False


def _changes(loop: ast.stmt, name: str) -> bool:
    """Does a loop bind a name, or store to what it names?"""
    stored = (n.value for n in of_kinds(loop, ast.Subscript) if isinstance(n.ctx, ast.Store))
    return name in bound_by(loop) or any(isinstance(n, ast.Name) and n.id == name for n in stored)
