"""``x.broadcast_to((rows, columns))`` of a tile of which only a trace tells whether it has one row, one column or all.

Source: NKI 2.26.1, ``nki.language.broadcast_to`` and the method of tiles.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..analysis.instructions import Instruction
from ..expr import algebra
from ..expr.emission import Refuse
from ..expr.values import Tile
from ..render.patterns import of_name
from ..render.support import on_rows_function, repeated_function
from ..syntax import codes
from ..syntax.node_index import walk

if TYPE_CHECKING:
    from ..analysis.scope import Scope
    from ..expr.operands import Operand

CODE = codes.NL_COMPUTE


def on_rows(scope: Scope, node: ast.Call, base: Operand, sizes: tuple[str, ...]) -> Operand | None:
    """The tile of as many rows under a name; ``None`` where the source tells that its rows are one, or all."""
    if base.dims is None or not _are_rows_untold(scope, base, sizes):
        return None
    if node not in scope.output.called:
        _check_not_written(scope, node, base)
        scope.apply(CODE, node)
        scope.assert_equal(base.dims[1], sizes[1], "a broadcast over partitions")
        name = scope.fresh("spread_tile")
        scope.emit(f"{name} = {on_rows_function(scope)}({base.text(())}, {sizes[0]})")
        scope.names.env[name] = Tile("sbuf", sizes, base.dtype)
        scope.output.called[node] = name, scope.names.env[name]
    name, value = scope.output.called[node]
    assert isinstance(value, Tile)
    return of_name(scope, name, value)


def repeated_as_traced(scope: Scope, node: ast.Call, base: Operand, sizes: tuple[str, ...]) -> Instruction | None:
    """``nl.broadcast_to(base, sizes)`` where only a trace tells what is repeated; ``None`` where the source does."""
    if not _are_rows_untold(scope, base, sizes) or base.items is not None:
        return None
    _check_not_written(scope, node, base)
    scope.apply(CODE, node)
    return Instruction(repeated_function(scope), [("src", base)], sizes, base.dtype, cut=False, support=True)


def _are_rows_untold(scope: Scope, base: Operand, sizes: tuple[str, ...]) -> bool:
    """Does only a trace tell whether a tile has one row or as many as it is broadcast to?"""
    if base.dims is None or len(base.dims) != 2 or len(sizes) != 2 or base.space != "sbuf":
        return False
    told = scope.equal(base.dims[0], sizes[0]) or scope.constant(base.dims[0]) is not None
    return not (told or scope.constant(base.dims[1]) == 1 or base.pattern is not None or scope.memory.direct)


def _check_not_written(scope: Scope, node: ast.Call, base: Operand) -> None:
    if written_later(scope, base):
        raise Refuse(node, CODE, f"'{base.base}' is broadcast, and written again later", "broadcast it after that")


def written_later(scope: Scope, view: Operand) -> bool:
    """Is a tile that gets a name of its own by a copy written behind the statement that copies it?"""
    names, last = algebra.names(view.base), scope.place.statement.end_lineno if scope.place.statement is not None else 0
    for node in walk(scope.function):
        if not isinstance(node, ast.expr) or node.lineno <= (last or 0):
            continue
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            parts: list[ast.expr] = [node.value]
        elif isinstance(node, ast.Call):
            qualified = scope.qualified(node.func)
            parts = [k.value for k in node.keywords if k.arg == "dst" or qualified is None]
            parts += node.args if qualified is None else []
        else:
            continue
        if any(isinstance(n, ast.Name) and n.id in names for part in parts for n in walk(part)):
            return True
    return False
