"""``dtype=dt`` where ``dt`` may be ``None``: a result has the type of its operands then.

Source: NKI 2.26.1, ``dtype=`` of ``nki.isa`` and ``nki.language``: "if not specified, it will be the same as the data
type of the input tile". Beta 2 takes the type from the destination, which is declared with one.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from .algebra import parse
from .facts.values import Absent, DType, Python
from .render import render

if TYPE_CHECKING:
    from .scope import Scope

OTHERWISE = "{}"
"""Where the text of an optional type has the type that stands for ``None``."""


def optional_type(scope: Scope, node: ast.expr) -> str:
    """The text of a type that may be ``None``, with a place for another one; empty for any other expression."""
    if isinstance(node, ast.IfExp):
        sides = (node.body, node.orelse)
        body, orelse = (OTHERWISE if _is_none(side) else render(scope, side) for side in sides)
        return f"{body} if {render(scope, node.test)} else {orelse}" if _may_be_none(node) else ""
    if not isinstance(node, ast.Name):
        return ""
    value = scope.env.get(node.id)
    defined = parse(scope.definitions[node.id]) if node.id in scope.definitions else None
    chosen = isinstance(defined, ast.IfExp) and _may_be_none(defined)
    left_out = isinstance(value, Absent) or (isinstance(value, Python | DType) and value.optional)
    return f"{node.id} if {node.id} is not None else {OTHERWISE}" if left_out or chosen else ""


def type_or(optional: str, otherwise: str) -> str:
    """Source text of an optional type, or of another one where it is ``None``."""
    return optional.replace(OTHERWISE, otherwise)


def _may_be_none(node: ast.IfExp) -> bool:
    return _is_none(node.body) or _is_none(node.orelse)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
