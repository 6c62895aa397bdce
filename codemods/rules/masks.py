"""NKI025 masks: a mask becomes clamped slices, or an ``if``.

Why: Beta 2 has no masks. An upper bound on an index vector, ``i * 128 + i_p < n``, cuts the slices of that axis in
every operand to ``min(128, n - i * 128)`` elements; a lower bound, ``i * 128 + i_p - pad >= 0``, lets them start at
``max(0, pad - i * 128)``; one of steps, ``2 * i_p < n``, is divided by them, and steps that no number tells are
asserted to be positive; a condition on Python values alone guards the whole instruction. A transpose swaps the bounds
of its operand, a reduction drops those of the reduced axes, and a vector that indexes the stationary of a matmul bounds
the rows of the product. The mask of one operand of a matmul, ``x[i_p, i_f][i_f < n]``, cuts that operand: over the
partitions it cuts the contraction, and so the other operand too. The first ``n`` elements row by row,
``512 * i_p + i_f < n``, are whole rows and a part of the next one: a copy becomes two, and a computation into a tile of
its own runs for all rows that have an element. Where the source does not show that a clamped slice has at least one
element, the output tests it. What a function or method of the user's returns is the mask that its body computes
(NKI024).

Safe: the elements that the mask excluded were not executed either, or nothing defines what they are. Left alone: masks
that are no bound of one vector, lower bounds of anything but copies and elementwise instructions, and of partitions of
anything but DMAs, vector masks of matmuls whose stationary has several free dimensions, and operand masks outside of
matmuls.

Source: NKI migration guide, "Deprecation of masking"; NKI 2.26.1, "NKI API masking".
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from ..analysis import positivity
from ..analysis.scope import Scope
from ..expr import algebra
from ..expr.emission import Refuse
from ..expr.frames import Clamp
from ..expr.values import Axis, Bound, Mask
from ..render.flat_masks import staircase
from ..render.masks import HELP, mask_of
from ..render.named_sizes import named_size
from ..syntax import codes

CODE = codes.MASKS
GOLDENS = (
    "mask_edge",
    "mask_shared",
    "mask_scalar",
    "mask_load_store",
    "mask_reduction",
    "mask_results",
    "mask_operands",
    "mask_staircase",
    "index_methods",
    "mask_lower",
)


@contextmanager
def masked(scope: Scope, node: ast.expr) -> Iterator[None]:
    """Evaluate the ``mask=`` of ``node``: its conditions guard what is emitted, its bounds cut the operands.

    An operand that is a computation itself has a mask of its own, or none.
    """
    keyword = next((k for k in node.keywords if k.arg == "mask"), None) if isinstance(node, ast.Call) else None
    saved = scope.masks.clamps, scope.output.guards, scope.masks.stairs
    scope.masks.clamps, scope.output.guards, scope.masks.stairs = {}, (), None
    try:
        if keyword is None or (isinstance(keyword.value, ast.Constant) and keyword.value.value is None):
            yield
            return
        mask = mask_of(scope, keyword.value)
        scope.apply(CODE, node)
        scope.guard(mask.conditions)
        if len(mask.ties) == 1 and not mask.bounds:
            scope.masks.stairs = staircase(scope, keyword.value, mask.ties[0])
            scope.masks.clamps[0] = scope.masks.stairs.clamp
        else:
            clip(scope, keyword.value, mask)
        yield
    finally:
        scope.masks.clamps, scope.output.guards, scope.masks.stairs = saved


def clip(scope: Scope, node: ast.expr, mask: Mask) -> None:
    """Let the bounds of a mask cut the operands of what is emitted next."""
    check_bounds(node, mask)
    for bound in sorted(_different(scope, mask), key=lambda bound: bound.lower):
        known = scope.masks.clamps.get(bound.term.position)
        if bound.lower:
            raised = _raised(scope, node, bound, known)
            scope.masks.clamps |= {raised.position: raised} if raised is not None else {}
        elif known is not None or not scope.equal(bound.term.axis.size, _rest(scope, bound)):
            clamp = clamp_of(scope, bound) if known is None else _narrowed(scope, known, bound)
            scope.masks.clamps[clamp.position] = clamp


def check_bounds(node: ast.expr, mask: Mask) -> None:
    """Raise :class:`Refuse` for a mask that is more than bounds of index vectors of one rank."""
    if mask.ties:
        raise Refuse(node, CODE, "a mask that is not a bound of one index vector", HELP)
    if len({(bound.ndim, bound.loose) for bound in mask.bounds}) > 1:
        raise Refuse(node, CODE, "a mask of index vectors of different ranks", "write all with the same dimensions")


def _different(scope: Scope, mask: Mask) -> Iterable[Bound]:
    """The bounds of a mask, each of them once."""
    found: dict[object, Bound] = {}
    for bound in mask.bounds:
        sizes = (bound.term.axis.size, algebra.subtract(bound.limit, bound.term.axis.start))
        found.setdefault((bound.term.position, bound.lower, *map(scope.canonical, sizes)), bound)
    return found.values()


def tighter(scope: Scope, a: Clamp, b: Clamp) -> Clamp:
    """One bound for two of one dimension."""
    return a if a.size == b.size else _smaller(scope, a, b.axis, b.size)


def _smaller(scope: Scope, clamp: Clamp, axis: Axis, size: str) -> Clamp:
    """A bound, and a further one: of an ``axis``, which Beta 1 takes where it is as long, up to ``size`` elements."""
    scope.assert_equal(clamp.axis.size, axis.size, "masks of index vectors of one size")
    hint = _size_name(clamp.axis, clamp.position, clamp.ndim)
    return replace(clamp, size=named_size(scope, hint, f"min({clamp.size}, {size})"))


def _narrowed(scope: Scope, known: Clamp, bound: Bound) -> Clamp:
    """An upper bound of a dimension that has one. What follows runs where the smaller one leaves an element."""
    rest = _rest(scope, bound)
    if scope.equal(bound.term.axis.size, rest):
        return known
    said = f"{known.size} > 0" in scope.output.guards
    clamp = _smaller(scope, known, bound.term.axis, rest)
    _take_back(scope, known)
    if said or not positivity.positive(scope, rest):
        scope.guard((f"{clamp.size} > 0",))
    return clamp


def _take_back(scope: Scope, clamp: Clamp) -> None:
    """Take back that a bound leaves an element, where a tighter one follows that says so."""
    scope.output.guards = tuple(guard for guard in scope.output.guards if guard != f"{clamp.size} > 0")


def _rest(scope: Scope, bound: Bound) -> str:
    """How many elements of an axis are in front of an upper bound, were the axis long enough."""
    rest = algebra.subtract(bound.limit, bound.term.axis.start)
    if algebra.has_quotient(rest, scope.sizes.definitions):
        raise Refuse(
            scope.place.statement or scope.function, CODE, "a mask up to a quotient, which may be no integer", HELP
        )
    return rest


def _raised(scope: Scope, node: ast.expr, bound: Bound, known: Clamp | None) -> Clamp | None:
    """What a lower bound leaves of an axis that is bounded from above already (or not): it starts later."""
    axis = bound.term.axis
    first = algebra.subtract(bound.limit, axis.start)
    least = scope.constant(first)
    if least is not None and least <= 0:
        return known
    clamp = known or Clamp(axis, bound.term.position, bound.ndim, axis.size, bound.loose is not None)
    if clamp.start != "0" or not scope.equal(clamp.axis.size, axis.size):
        raise Refuse(node, CODE, "two lower bounds on one dimension", "combine them with max(...)")
    hint = _size_name(axis, bound.term.position, bound.ndim)
    start = str(least) if least is not None else named_size(scope, f"{axis.label or 'first'}_start", f"max(0, {first})")
    rest = algebra.subtract(clamp.size, start)
    size = _number_left(rest, rest) or named_size(scope, hint, rest)
    _take_back(scope, clamp)
    if not size.isdigit():
        scope.guard((f"{size} > 0",))
    return replace(clamp, size=size, start=start)


def _size_name(axis: Axis, position: int, ndim: int) -> str:
    """A name for how many elements of an axis a mask leaves."""
    if axis.label:
        return f"{axis.label}_size"
    return "valid_rows" if position == 0 else "valid_columns" if position == ndim - 1 else "valid_size"


_NAME = re.compile(r"[A-Za-z]\w*(?![\w.(\[])")
"""The name of a size, at the start of a number of elements that is written with it."""


def _number_left(size: str, rest: str) -> str:
    """The smaller of two sizes that the source writes as numbers; empty where it does not, or leaves nothing."""
    sizes = [algebra.constant(text, {}) for text in (size, rest)]
    known = [n for n in sizes if n is not None and n > 0]
    return str(min(known)) if len(known) == len(sizes) else ""


def clamp_of(scope: Scope, bound: Bound) -> Clamp:
    """The name of the clamped size of an axis, computed first. What follows does not run where it is not positive."""
    axis = bound.term.axis
    rest = _rest(scope, bound)
    number = _number_left(axis.size, rest)
    if number or scope.equal(axis.size, rest):
        return Clamp(axis, bound.term.position, bound.ndim, number or axis.size, bound.loose is not None)
    if rest.isidentifier() and positivity.at_most(scope, rest, axis.size):
        if not positivity.positive(scope, rest):
            scope.guard((f"{rest} > 0",))
        return Clamp(axis, bound.term.position, bound.ndim, rest, bound.loose is not None)
    text = f"min({axis.size}, {rest})"
    key = f"min({scope.canonical(axis.size)}, {scope.canonical(rest)})"
    hint = _size_name(axis, bound.term.position, bound.ndim)
    limit = None if axis.label or (hint, key) in scope.sizes.hinted else _NAME.match(rest)
    if limit is not None and scope.unused(hint) != hint:
        hint = f"valid_{limit.group().lower()}"
    name = named_size(scope, hint, text, key)
    if not positivity.positive(scope, rest):
        scope.guard((f"{name} > 0",))
    return Clamp(axis, bound.term.position, bound.ndim, name, bound.loose is not None)
