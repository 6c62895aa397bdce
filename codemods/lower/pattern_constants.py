"""Constants of one number, and triangles of them: ``np.ones(s)``, ``np.zeros(s)``, ``np.tril(np.ones(s), k)``.

The kernel makes them like those of a comparison of indices (:mod:`.affine_constants`): zeros where none holds.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ..analysis.scope import Scope
from ..expr import algebra
from ..expr.emission import Refuse
from ..expr.values import Hbm
from ..render.expressions import render
from ..render.shapes import written_sizes
from ..render.type_names import dtype_text
from .affine_constants import CODE, HELP, emit_constant

PLAIN = ("np.ones", "np.zeros")
TRIANGLES = ("np.tril", "np.triu")
_MOST_DIMENSIONS = 5


@dataclass(frozen=True)
class _Pattern:
    """Ones where ``offset`` plus the sum of ``steps`` times indices compares to zero by ``operator``."""

    steps: tuple[str, ...]
    offset: str
    operator: str


def pattern_constant(scope: Scope, name: str, array: ast.Call, dtype: ast.expr | None) -> Hbm:
    """``name = nl.shared_constant(array, dtype)`` as a tensor in HBM, of an array that is one of these."""
    function = scope.qualified(array.func) or ""
    base: ast.expr = array
    distance: ast.expr | None = None
    if function in TRIANGLES:
        given = _given(array, ("m", "k"))
        base, distance = given.get("m", array), given.get("k")
    base_name = scope.qualified(base.func) if isinstance(base, ast.Call) else None
    if not isinstance(base, ast.Call) or base_name not in PLAIN or (function in TRIANGLES and base_name != "np.ones"):
        raise Refuse(array, CODE, f"{function} of anything but {PLAIN[0]}", HELP)
    told = _given(base, ("shape", "dtype"))
    sizes = _sizes(scope, array, told.get("shape"))
    stored = f"{scope.nl}.float32" if "dtype" not in told else dtype_text(scope, told["dtype"])
    text = stored if dtype is None else dtype_text(scope, dtype)
    pattern = _pattern(scope, array, function, len(sizes), distance)
    emit_constant(scope, array, name, sizes, (list(pattern.steps), pattern.offset, pattern.operator), text)
    return Hbm(sizes, text)


def _given(call: ast.Call, names: tuple[str, ...]) -> dict[str, ast.expr]:
    """The arguments of a call by their names; raises :class:`Refuse` for others."""
    given = dict(zip(names, call.args, strict=False)) | {k.arg or "": k.value for k in call.keywords}
    if set(given) - set(names) or len(call.args) > len(names):
        raise Refuse(call, CODE, f"arguments of {ast.unparse(call.func)} beside {' and '.join(names)}", HELP)
    return given


def _sizes(scope: Scope, array: ast.Call, shape: ast.expr | None) -> tuple[str, ...]:
    sizes = written_sizes(scope, shape) if shape is not None else None
    if sizes is None or sizes.partition is not None or not 1 <= len(sizes.all) <= _MOST_DIMENSIONS:
        raise Refuse(array, CODE, "an array of a shape that the source does not tell", HELP)
    return sizes.all


def _pattern(scope: Scope, array: ast.Call, function: str, rank: int, distance: ast.expr | None) -> _Pattern:
    if function in PLAIN:
        return _Pattern(("0",) * rank, "0", "equal" if function == "np.ones" else "not_equal")
    if rank != 2:
        raise Refuse(array, CODE, f"{function} of more or fewer than two dimensions", HELP)
    k = "0" if distance is None else algebra.paren(render(scope, distance))
    if function == "np.tril":  # row - column + k >= 0
        return _Pattern(("1", "-1"), k, "greater_equal")
    return _Pattern(("-1", "1"), algebra.subtract("0", k), "greater_equal")
