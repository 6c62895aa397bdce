"""``dtype=dt`` or ``dtype=options["dtype"]`` that may be ``None``: a result has the type of its operands then.

Source: NKI 2.26.1, ``dtype=`` of ``nki.isa`` and ``nki.language``: "if not specified, it will be the same as the data
type of the input tile". Beta 2 takes the type from the destination, which is declared with one.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..expr.algebra import parse
from ..expr.values import Absent, Container, DType, Python, Value
from ..syntax.node_index import walk
from ..syntax.nodes import is_none
from .expressions import render
from .type_names import is_dtype

if TYPE_CHECKING:
    from ..analysis.scope import Scope

OTHERWISE = "{}"
"""Where the text of an optional type has the type that stands for ``None``."""


def optional_type(scope: Scope, node: ast.expr) -> str:
    """The text of a type that may be ``None``, with a place for another one; empty for any other expression."""
    if isinstance(node, ast.IfExp):
        sides = (node.body, node.orelse)
        body, orelse = (OTHERWISE if is_none(side) else render(scope, side) for side in sides)
        return f"{body} if {render(scope, node.test)} else {orelse}" if _may_be_none(node) else ""
    if may_lack(scope, node):
        text = render(scope, node)
        return f"{text} if {text} is not None else {OTHERWISE}"
    if not isinstance(node, ast.Name):
        return ""
    value = scope.names.env.get(node.id)
    defined = parse(scope.sizes.definitions[node.id]) if node.id in scope.sizes.definitions else None
    chosen = isinstance(defined, ast.IfExp) and _may_be_none(defined)
    left_out = isinstance(value, Absent) or (isinstance(value, Python | DType) and value.optional)
    return f"{node.id} if {node.id} is not None else {OTHERWISE}" if left_out or chosen else ""


def type_or(optional: str, otherwise: str) -> str:
    """Source text of an optional type, or of another one where it is ``None``."""
    return optional.replace(OTHERWISE, otherwise)


def may_lack(scope: Scope, node: ast.expr) -> bool:
    """Is an expression the element of a dictionary of options, which may be ``None`` as far as the source tells?"""
    match node:
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key))):
            pass
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="get"), args=[ast.Constant(value=str(key)), *_]):
            pass
        case _:
            return False
    given = _given(scope, name, key)
    return type(scope.names.env.get(name)) in (Python, Value, Container) and (
        given is None or not is_dtype(scope, given)
    )


def _given(scope: Scope, name: str, key: str) -> ast.expr | None:
    """What a dictionary that the function writes once, and of which it only takes elements, has under a key."""
    nodes = list(walk(scope.function))
    taken = {n.value for n in nodes if isinstance(n, ast.Subscript | ast.Attribute) and isinstance(n.ctx, ast.Load)}
    taken -= {n.value for n in nodes if isinstance(n, ast.Attribute) and n.attr != "get"}
    uses = [n for n in nodes if isinstance(n, ast.Name) and n.id == name and n not in taken]
    written = [n for n in nodes if isinstance(n, ast.Assign) and n.targets == uses and isinstance(n.value, ast.Dict)]
    return _under(written[0].value, key) if written else None


def _under(display: ast.expr, key: str) -> ast.expr | None:
    """What a written dictionary has under a key; ``None`` for one that takes another dictionary in."""
    assert isinstance(display, ast.Dict)
    found = {ast.unparse(k): value for k, value in zip(display.keys, display.values, strict=True) if k is not None}
    return found.get(repr(key)) if None not in display.keys else None


def _may_be_none(node: ast.IfExp) -> bool:
    return is_none(node.body) or is_none(node.orelse)
