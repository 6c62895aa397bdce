"""One element of a subscript as what it takes of a dimension: a slice, ``nl.ds``, or a number.

Sources: NKI 2.26.1, "Tensor indexing"; NKI migration guide, "Update indexing syntax for mgrid and arange".
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..analysis.maybe_tensors import may_be_no_number
from ..expr import algebra
from ..expr.emission import Refuse
from ..expr.operands import Item
from ..expr.values import Absent, Python, Tile
from ..render.expressions import render, render_named
from ..render.foreign_indices import assert_number, may_be_slice
from ..syntax import codes
from ..syntax.node_index import walk
from ..syntax.nodes import is_name, is_none

if TYPE_CHECKING:
    from ..analysis.scope import Scope

VECTORS = codes.INDEX_VECTORS


def written_slice(scope: Scope, node: ast.expr) -> ast.Slice | None:
    """``a:b`` for ``slice(a, b)`` of Python; ``None`` for anything else."""
    if not isinstance(node, ast.Call) or not is_python_slice(scope, node) or node.keywords:
        return None
    given: list[ast.expr | None] = [None if is_none(argument) else argument for argument in node.args]
    bounds = [None, *given, None] if len(given) == 1 else [*given, None, None]
    return ast.copy_location(ast.Slice(*bounds[:3]), node) if 1 <= len(given) <= 3 else None


def is_python_slice(scope: Scope, call: ast.Call) -> bool:
    """Does a call mean Python's own ``slice``?"""
    return is_name(call.func, "slice") and scope.means_builtin("slice")


def is_slice(scope: Scope, element: ast.expr) -> bool:
    return isinstance(element, ast.Slice) or (
        isinstance(element, ast.Call) and scope.qualified(element.func) == "nl.ds"
    )


def is_everything(element: ast.expr) -> bool:
    if isinstance(element, ast.Constant) and element.value is Ellipsis:
        return True
    return isinstance(element, ast.Slice) and not (element.lower or element.upper or element.step)


def basic_item(scope: Scope, node: ast.Subscript, element: ast.expr, size: str) -> Item:
    """What a slice, ``nl.ds`` or a number takes of a dimension of ``size`` elements."""
    if isinstance(element, ast.Slice):
        return slice_item(scope, element, size)
    part = _start_and_size(element) if isinstance(element, ast.Call) and is_slice(scope, element) else None
    if part is not None:
        start, count = (render_named(scope, argument) for argument in part)
        full = start == "0" and scope.equal(count, size)
        return Item(start, count, full, raw=render(scope, element))
    refuse_dynamic(scope, node, element)
    if _is_no_number(scope, element):
        what = f"it is not known what the index '{ast.unparse(element)}' is"
        raise Refuse(node, VECTORS, what, "index with a number")
    assert_number(scope, element)
    return Item(render_named(scope, element), "1", point=True)


def _start_and_size(call: ast.Call) -> tuple[ast.expr, ast.expr] | None:
    """The arguments of ``nl.ds(start, size)``, by position or by name; ``None`` for a call with others."""
    given = dict(zip(("start", "size"), call.args, strict=False)) | {k.arg or "": k.value for k in call.keywords}
    return (given["start"], given["size"]) if given.keys() == {"start", "size"} else None


def _is_no_number(scope: Scope, element: ast.expr) -> bool:
    """May an index be something else than a number, a slice for example?"""
    if isinstance(element, ast.Call) and scope.evaluator.module_function(scope, element) is not None:
        return not isinstance(scope.evaluator.call_value(scope, element)[1], Python)
    absent = isinstance(element, ast.Name) and isinstance(scope.names.env.get(element.id), Absent)
    return absent or may_be_no_number(scope, element) or may_be_slice(scope, element)


def slice_item(scope: Scope, element: ast.Slice, size: str) -> Item:
    """``a:b`` of a dimension of ``size`` elements."""
    if element.step is not None:
        what = "a slice with a step beside index vectors"
        raise Refuse(element, VECTORS, what, "write slices only, or index vectors only")
    start = render_named(scope, element.lower) if element.lower is not None else "0"
    stop = render_named(scope, element.upper) if element.upper is not None else size
    for bound in (start, stop):
        if bound.startswith("-"):
            raise Refuse(element, VECTORS, "a slice that counts from the end", "count from the start")
    raw = f"{start if element.lower is not None else ''}:{stop if element.upper is not None else ''}"
    count = stop if start == "0" else algebra.difference(stop, start, scope.sizes.definitions)
    return Item(start, count, start == "0" and scope.equal(stop, size), raw=raw)


def refuse_dynamic(scope: Scope, node: ast.Subscript, element: ast.expr) -> None:
    for part in walk(element):
        if isinstance(part, ast.Name) and isinstance(scope.names.env.get(part.id), Tile):
            raise Refuse(
                node,
                VECTORS,
                f"the tile '{part.id}' is an index: a dynamic access",
                "write it as .ap(..., scalar_offset=) or .ap(..., vector_offset=)",
            )
