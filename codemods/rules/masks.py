"""NKI025 masks: a mask becomes clamped slices, or an ``if``.

Why: Beta 2 has no masks. An upper bound on an index vector, ``i * 128 + i_p < n``, cuts the slices of that axis in
every operand to ``min(128, n - i * 128)`` elements; a condition on Python values alone guards the whole instruction.
A transpose swaps the bounds of its operand, a reduction drops those of the reduced axes, and a vector that indexes the
stationary of a matmul bounds the rows of the product. Where the source does not show that a clamped slice has at least
one element, the output tests it.

Safe: the elements that the mask excluded were not executed either. Left alone: masks that are no upper bound of one
vector, and vector masks of matmuls of more than two dimensions.

Source: NKI migration guide, "Deprecation of masking"; NKI 2.26.1, "NKI API masking".
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager

from .. import algebra, positivity
from ..emission import New, Refuse
from ..facts.masks import HELP, mask_of
from ..facts.values import Bound, Python
from ..scope import Clamp, Scope

CODE = "NKI025"
GOLDENS = ("mask_edge", "mask_scalar", "mask_load_store", "mask_reduction", "mask_results")


@contextmanager
def masked(scope: Scope, node: ast.expr) -> Iterator[None]:
    """Evaluate the ``mask=`` of ``node``: its conditions guard what is emitted, its bounds cut the operands.

    An operand that is a computation itself has a mask of its own, or none.
    """
    keyword = next((k for k in node.keywords if k.arg == "mask"), None) if isinstance(node, ast.Call) else None
    saved = scope.clamps, scope.guards
    scope.clamps, scope.guards = {}, ()
    try:
        if keyword is None or (isinstance(keyword.value, ast.Constant) and keyword.value.value is None):
            yield
            return
        mask = mask_of(scope, keyword.value)
        if mask.ties:
            raise Refuse(keyword.value, CODE, "a mask that is not an upper bound of one index vector", HELP)
        scope.apply(CODE, node)
        conditions = list(mask.conditions)
        for bound in mask.bounds:
            clamp, condition = _clamp(scope, bound)
            if clamp.position in scope.clamps:
                raise Refuse(node, CODE, "two bounds on one axis", "combine them with min(...)")
            scope.clamps[clamp.position] = clamp
            conditions += condition
        with scope.guarded(tuple(conditions)):
            yield
    finally:
        scope.clamps, scope.guards = saved


def _clamp(scope: Scope, bound: Bound) -> tuple[Clamp, list[str]]:
    """The name of the clamped size of an axis (computed first), and the condition that it is not empty."""
    axis = bound.term.axis
    rest = algebra.subtract(bound.limit, axis.start)
    text = f"min({axis.size}, {rest})"
    name = scope.sizes.get(text)
    if name is None:
        name = scope.fresh(f"{axis.label or 'axis'}_size")
        scope.out.append(New(f"{name} = {text}"))
        scope.sizes[text] = name
        scope.env[name] = Python()
    condition = [] if positivity.positive(scope, rest) else [f"{name} > 0"]
    return Clamp(axis, bound.term.position, bound.ndim, name), condition
