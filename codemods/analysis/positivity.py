"""Is a size provably greater than 0? What is not proved is guarded in the output."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..expr import algebra
from ..expr.values import Python
from .unit_loops import passes_from_zero

if TYPE_CHECKING:
    from ..expr.frames import Loop
    from .scope import Scope


def positive(scope: Scope, text: str) -> bool:
    """Proves ``text > 0``: sums of positive terms, and ``N - i * T`` for ``i in range(ceil(N / T))``."""
    value = scope.env.get(text)
    if isinstance(value, Python) and value.positive:
        return True
    polynomial = algebra.normal(text, scope.definitions)
    if polynomial and all(c > 0 and all(_atom_positive(scope, a) for a in m) for m, c in polynomial.items()):
        return True
    return any(_rest_of_tiling(scope, loop, polynomial) for loop in scope.loops)


def _atom_positive(scope: Scope, atom: str) -> bool:
    node = algebra.parse(atom)
    if isinstance(node, ast.Name):
        value = scope.env.get(node.id)
        return isinstance(value, Python) and value.positive
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
        return node.value.attr == "shape"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
        n, t = ast.unparse(node.left), ast.unparse(node.right)
        multiple = any(scope.equal(n, of) and scope.equal(t, tile) for of, tile in scope.multiples)
        return multiple and positive(scope, n) and positive(scope, t)
    return isinstance(node, ast.Attribute) and ".tile_size." in atom


def _rest_of_tiling(scope: Scope, loop: Loop, polynomial: algebra.Polynomial) -> bool:
    """``polynomial`` is ``N - i * T`` where the loop runs ``i`` over the tiles of ``N``."""
    variable = loop.variable
    with_variable = {m: c for m, c in polynomial.items() if variable in m}
    if len(with_variable) != 1:
        return False
    ((monomial, coefficient),) = with_variable.items()
    if monomial.count(variable) != 1 or coefficient >= 0:
        return False
    tile = algebra.show({tuple(a for a in monomial if a != variable): -coefficient})
    total = algebra.show({m: c for m, c in polynomial.items() if variable not in m})
    passes = passes_from_zero(scope, loop.statement)
    if passes is None or not positive(scope, tile) or not positive(scope, total):
        return False
    actual = algebra.normal(ast.unparse(passes), scope.definitions)
    n, t = algebra.paren(total), algebra.paren(tile)
    ceiling = f"math.ceil({total} / {t})"
    spellings = (ceiling, f"int({ceiling})", f"({n} + {t} - 1) // {t}", f"-(-{n} // {t})", f"{n} // {t}")
    return any(actual == algebra.normal(spelling, scope.definitions) for spelling in spellings)
