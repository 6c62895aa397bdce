"""Products of numbers, of Python's library and of numpy: Beta 2 kernels call a function that the module gets."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..analysis.maybe_tensors import is_number
from ..analysis.objects import only_value
from ..syntax.codes import DATA_TYPES as DTYPES
from ..syntax.nodes import is_shape
from .support import product_function

if TYPE_CHECKING:
    from ..analysis.scope import Scope


def factors_of(scope: Scope, qualified: str, node: ast.Call) -> ast.expr | None:
    """The numbers whose product a call gives: Python's, or numpy's for sizes; ``None`` for other calls."""
    match node.args:
        case [factors] if not node.keywords:
            sizes = qualified == "np.prod" and _holds_sizes(scope, factors)
            return factors if sizes or qualified == "math.prod" else None
        case [function, factors, *first] if qualified == "functools.reduce" and not node.keywords:
            from_one = all(isinstance(n, ast.Constant) and n.value == 1 for n in first)
            return factors if from_one and scope.qualified(function) == "operator.mul" else None
    return None


def whole_product(scope: Scope, node: ast.Call) -> str | None:
    """``int(np.prod(numbers))``: whatever numpy makes of numbers on the way, the product becomes one of Python's."""
    inner = node.args[0] if len(node.args) == 1 and not node.keywords else None
    taken = isinstance(node.func, ast.Name) and node.func.id == "int" and "int" not in scope.module.symbols.rebound
    if not taken or not isinstance(inner, ast.Call) or scope.qualified(inner.func) != "np.prod":
        return None
    if (
        len(inner.args) != 1
        or inner.keywords
        or not (inner.args[0] in scope.output.given or is_number(scope, inner.args[0]))
    ):
        return None
    scope.apply(DTYPES, inner)
    return f"int({product_function(scope)}({scope.evaluator.render(scope, inner.args[0])}))"


def _holds_sizes(scope: Scope, node: ast.expr) -> bool:
    """Is a sequence a part of a shape, or a list made from one?"""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        return _holds_sizes(scope, node.value)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = (node.left, node.right)
        shapes = [_holds_sizes(scope, side) for side in sides]
        return any(shapes) and all(s or _is_list_of_integers(n) for s, n in zip(shapes, sides, strict=True))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("list", "tuple"):
        return len(node.args) == 1 and _holds_sizes(scope, node.args[0])
    value = only_value(scope, node) or node
    return is_shape(value)


def _is_list_of_integers(node: ast.expr) -> bool:
    elements = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
    return all(isinstance(n, ast.Constant) and type(n.value) is int for n in elements)
