"""``dtype=dt`` where ``dt`` may be ``None``: a result has the type of its operands then.

Source: NKI 2.26.1, ``dtype=`` of ``nki.isa`` and ``nki.language``: "if not specified, it will be the same as the data
type of the input tile". Beta 2 takes the type from the destination, which is declared with one.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from .facts.values import Absent, DType, Python

if TYPE_CHECKING:
    from .scope import Scope


def optional_type(scope: Scope, node: ast.expr) -> str:
    """The name of a data type that may be ``None``; empty for any other expression."""
    value = scope.env.get(node.id) if isinstance(node, ast.Name) else None
    left_out = isinstance(value, Absent) or (isinstance(value, Python | DType) and value.optional)
    return node.id if isinstance(node, ast.Name) and left_out else ""


def type_or(name: str, otherwise: str) -> str:
    """Source text of the type ``name``, or of another one where it is ``None``."""
    return f"{name} if {name} is not None else {otherwise}"
