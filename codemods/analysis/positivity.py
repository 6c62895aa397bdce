"""Is a size provably greater than 0? What is not proved is guarded in the output."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..expr import algebra
from ..expr.values import Python
from .formulas import is_ceiling, written_out
from .unit_loops import passes_from_zero

if TYPE_CHECKING:
    from ..expr.frames import Loop
    from .scope import Scope


def positive(scope: Scope, text: str) -> bool:
    """Proves ``text > 0``: sums of positive terms, and ``N - i * T`` for ``i in range(ceil(N / T))`` or of numbers."""
    value = scope.names.env.get(text)
    if isinstance(value, Python) and value.positive:
        return True
    polynomial = algebra.normal(text, _known_formulas(scope))
    if polynomial and all(c > 0 and all(_atom_positive(scope, a) for a in m) for m, c in polynomial.items()):
        return True
    return any(_rest_of_tiling(scope, loop, polynomial) for loop in scope.place.loops)


def _known_formulas(scope: Scope) -> dict[str, str]:
    """What names are computed as at this place, those that are bound more than once, too."""
    return scope.sizes.definitions | scope.sizes.formulas


def _atom_positive(scope: Scope, atom: str) -> bool:
    node = algebra.parse(atom)
    if isinstance(node, ast.Name):
        value = scope.names.env.get(node.id)
        return isinstance(value, Python) and value.positive
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
        return node.value.attr == "shape"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
        n, t = ast.unparse(node.left), ast.unparse(node.right)
        multiple = any(scope.equal(n, of) and scope.equal(t, tile) for of, tile in scope.sizes.told.multiples)
        return multiple and positive(scope, n) and positive(scope, t)
    smallest = smallest_of(scope, atom)
    if smallest:
        return all(positive(scope, number) for number in smallest)
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
    if passes is None or not (positive(scope, tile) or positive(scope, total)):
        return False  # of a negative N, and a negative T, there may be tiles
    known = _known_formulas(scope)
    if algebra.equal(ast.unparse(passes), f"{algebra.paren(total)} // {algebra.paren(tile)}", known):
        return True
    while isinstance(passes, ast.Name) and passes.id in known:
        passes = algebra.parse(known[passes.id])
    return _counts_tiles(scope, written_out(scope, passes), total, tile) or (
        positive(scope, total) and positive(scope, _last(total, tile, passes))
    )


def _last(total: str, tile: str, passes: ast.expr) -> str:
    """``N - i * T`` in the last pass: with ``N``, that of the first, the smallest and the largest of them."""
    return algebra.subtract(total, algebra.multiply(tile, algebra.subtract(ast.unparse(passes), "1")))


def _counts_tiles(scope: Scope, passes: ast.expr, total: str, tile: str) -> bool:
    """Is ``passes`` at most how many tiles there are in ``total``, the last one whole or not?

    ``tile`` may be the smaller of that size and others: so many of them cover no more. The tiles may be those of
    something smaller than ``total``: what is left in front of the last of them is proved to be positive.
    """
    match passes:
        case ast.Call(_, [ast.BinOp(left, ast.Div(), right)]) if is_ceiling(passes):
            lefts = [total]
            rest = algebra.add(algebra.subtract(total, ast.unparse(left)), "1")
        case ast.BinOp(left, ast.FloorDiv(), right):
            lefts = [total, algebra.add(total, ast.unparse(right), "-1")]
            rest = algebra.add(algebra.subtract(total, ast.unparse(left)), ast.unparse(right))
        case ast.UnaryOp(ast.USub(), ast.BinOp(left, ast.FloorDiv(), right)):
            lefts = [algebra.negative(total)]
            rest = algebra.add(total, ast.unparse(left), "1")
        case ast.BinOp(ast.BinOp(left, ast.FloorDiv(), right), ast.Add(), ast.Constant(1)):
            lefts = [algebra.add(total, "-1")]
            rest = algebra.subtract(total, ast.unparse(left))
        case _:
            return False
    size = ast.unparse(right)
    known = _known_formulas(scope)
    if not any(algebra.equal(size, each, known) for each in (tile, *smallest_of(scope, tile))):
        return False
    is_same = any(algebra.equal(ast.unparse(left), each, known) for each in lefts)
    return is_same or (positive(scope, size) and positive(scope, rest))


def at_most(scope: Scope, text: str, size: str) -> bool:
    """Is ``text`` the smallest of numbers, one of which is ``size``?"""
    known = _known_formulas(scope)
    text = known.get(text, text)
    return any(algebra.equal(size, each, known) for each in smallest_of(scope, text))


def smallest_of(scope: Scope, text: str) -> list[str]:
    """The numbers of which ``text`` is the smallest: ``min(n, 128)``, ``min(min(n, 128), size)``."""
    match algebra.parse(text):
        case ast.Call(ast.Name("min"), [_, _, *_] as numbers, []) if "min" not in scope.module.symbols.rebound:
            texts = [ast.unparse(number) for number in numbers]
            return texts + [inner for each in texts for inner in smallest_of(scope, each)]
        case _:
            return []
