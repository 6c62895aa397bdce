"""One of two places: ``nl.store(a[i] if c else b[j], value)`` is a copy under each condition.

A name that is a part of either of two tensors, by a condition that cannot change, is a part of the one it chooses.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ..analysis.objects import changing_part
from ..expr import algebra
from ..expr.operands import Operand
from ..expr.values import Comparison, Hbm, Mask, Tile, Value
from ..render.expressions import is_pure, render
from ..syntax.node_index import of_kinds, walk

if TYPE_CHECKING:
    from ..analysis.scope import Scope

_PLACES = {"nl.store": ("dst", "value"), "nisa.dma_copy": ("dst", "src")}


def either_place(scope: Scope, node: ast.Call, write: Callable[[ast.Call], None]) -> bool:
    """Write a copy for each side of an operand that is a choice; ``False`` where none is."""
    found = next((p for p in _arguments(scope, node) if _is_choice(scope, p[1])), None)
    if found is None:
        return False
    choice = found[1]
    assert isinstance(choice, ast.IfExp)
    test = render(scope, choice.test)
    _under(scope, test, lambda: write(_with(node, choice, choice.body)))
    _under(scope, f"not {algebra.paren(test)}", lambda: write(_with(node, choice, choice.orelse)))
    return True


def _arguments(scope: Scope, node: ast.Call) -> list[tuple[str, ast.expr]]:
    """The two tensors of a copy, by parameter."""
    names = _PLACES.get(scope.qualified(node.func) or "", ())
    given = [*zip(names, node.args, strict=False), *((k.arg or "", k.value) for k in node.keywords)]
    return [(name, value) for name, value in given if name in names]


def _is_choice(scope: Scope, node: ast.expr) -> bool:
    """Is an operand one of two tensors, or of parts of them, and can its condition be read twice?"""
    if not isinstance(node, ast.IfExp):
        return False
    calls = (n for n in of_kinds(node.test, ast.Call))
    return _is_tensor(scope, node.body) and _is_tensor(scope, node.orelse) and all(is_pure(scope, c) for c in calls)


def _is_tensor(scope: Scope, node: ast.expr) -> bool:
    while isinstance(node, ast.Subscript):
        node = node.value
    return isinstance(node, ast.Name) and isinstance(scope.names.env.get(node.id), Hbm | Tile)


def _with(node: ast.Call, choice: ast.IfExp, side: ast.expr) -> ast.Call:
    """The call with one side in place of the choice."""
    chosen = copy.copy(node)
    chosen.args = [side if a is choice else a for a in node.args]
    chosen.keywords = [ast.keyword(k.arg, side if k.value is choice else k.value) for k in node.keywords]
    return chosen


def _under(scope: Scope, condition: str, write: Callable[[], None]) -> None:
    """Write statements that run, with all that they need, under a condition; nothing that they tell holds behind."""
    out, sizes, env, called = (
        scope.output.lines,
        dict(scope.sizes.named),
        dict(scope.names.env),
        dict(scope.output.called),
    )
    scope.output.lines = []
    write()
    guarded = [replace(new, guard=_both(condition, new.guard)) for new in scope.output.lines]
    scope.output.lines, scope.sizes.named, scope.names.env, scope.output.called = [*out, *guarded], sizes, env, called


def _both(condition: str, guard: str) -> str:
    if not guard:
        return condition
    return " and ".join(f"({part})" if " or " in part or " if " in part else part for part in (condition, guard))


def either_origin(scope: Scope, test: ast.expr, a: Value | None, b: Value | None, merged: Value) -> Value:
    """A name that is a part of a tensor in each of two branches: the one part that a condition chooses.

    Only where the branches differ in the tensor or in the place where the part starts, and the condition cannot change.
    """
    if not (isinstance(a, Hbm | Tile) and isinstance(b, Hbm | Tile) and isinstance(merged, Hbm | Tile)):
        return merged
    one, other = a.origin, b.origin
    if merged.origin is not None or not (isinstance(one, Operand) and isinstance(other, Operand)) or not a.view:
        return merged
    plain = ast.Name | ast.Compare | ast.Constant | ast.expr_context | ast.cmpop
    stays = all(isinstance(n, plain) for n in walk(test))
    stays = stays and scope.names.are_fixed(n.id for n in of_kinds(test, ast.Name))
    same = replace(one, base=other.base, offset=other.offset, origin=other.origin) == other
    if not (stays and same) or one.dynamic or one.rows_at is not None or one.prefix or one.is_view:
        return merged
    text = ast.unparse(test)
    base, offset = (x if x == y else f"({algebra.choice(text, x, y)})" for x, y in _differing(one, other))
    return replace(merged, origin=replace(one, base=base, offset=offset, origin=None))


def either_predicate(scope: Scope, test: ast.expr, a: Value | None, b: Value | None, merged: Value) -> Value:
    """A name that is a comparison of the same vectors in each of two branches: a condition chooses the offset.

    Only of comparisons that tie two dimensions, and where the condition cannot change.
    """
    if isinstance(merged, Mask) or not (isinstance(a, Mask) and isinstance(b, Mask) and a.ties and b.ties):
        return merged
    if a.comparison is None or b.comparison is None or of_kinds(test, ast.Call) or changing_part(scope, test):
        return merged
    one, other = _greater(a.comparison), _greater(b.comparison)
    alike = replace(other.left, offset=one.left.offset), replace(other.right, offset=one.right.offset)
    stays = scope.names.are_fixed(n.id for n in of_kinds(test, ast.Name))
    if not stays or one.operator != other.operator or alike != (one.left, one.right):
        return merged
    text = ast.unparse(test)
    left, right = (
        replace(x, offset=algebra.choice(text, x.offset, y.offset))
        for x, y in ((one.left, other.left), (one.right, other.right))
    )
    chosen = Comparison(left, one.operator, right)
    return Mask(ties=(chosen,), comparison=chosen)


def _greater(comparison: Comparison) -> Comparison:
    """``b > a`` for ``a < b``."""
    turned = {"less": "greater", "less_equal": "greater_equal"}.get(comparison.operator)
    return comparison if turned is None else Comparison(comparison.right, turned, comparison.left)


def _differing(one: Operand, other: Operand) -> list[tuple[str, str]]:
    return [(one.base, other.base), (one.offset, other.offset)]
