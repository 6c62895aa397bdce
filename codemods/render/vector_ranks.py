"""Index vectors of different ranks in one access, and those whose last dimensions are missing where sizes are 1.

Beta 1 aligns vectors of different ranks at the right, as numpy does, but a column, ``i[:, None]``, stays one beside
others of more dimensions: it walks the partitions. Which dimension any other vector walks beside loose ones depends on
the sizes: where one alignment is meant, the kernel asserts the sizes that make it so.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from ..expr import algebra
from ..expr.emission import Refuse, asserting
from ..expr.values import Index, Shorter, Tile, Value
from ..syntax import codes

if TYPE_CHECKING:
    from ..analysis.scope import Scope
    from ..expr.operands import Operand

CODE = codes.INDEX_VECTORS
LOOSE = "index vectors whose number of dimensions depends on sizes, beside others"
HELP = "write the vectors with nl.arange"


def _short_rank(scope: Scope, node: ast.expr, loose: list[Index], rank: int) -> Shorter | None:
    """The rank that vectors of an open rank may have besides ``rank``; ``None`` where no vector's is open."""
    short = loose[0].loose if loose else None
    scope.masks.has_loose = scope.masks.has_loose or short is not None
    if any(v.loose != short or v.ndim != rank for v in loose):
        raise Refuse(node, CODE, LOOSE, HELP)
    return short


def aligned(scope: Scope, node: ast.expr, base: Operand, vectors: list[Value | None]) -> list[Value | None]:
    """The vectors of one access of ``base`` so that each walks the dimension where its terms stand."""
    walking = [v for v in vectors if isinstance(v, Index) and v.terms]
    loose = [v for v in walking if v.loose is not None]
    if not loose and len({v.ndim for v in walking}) < 2:
        return vectors
    rank = max(v.ndim for v in walking)
    short = _short_rank(scope, node, loose, rank)
    columns = _columns(base, vectors, rank)
    if columns and not isinstance(base.value, Tile):
        _check_columns(scope, node, [v for v in walking if v not in columns and v.ndim == rank])
    if short is not None:
        columns = _beside_loose(scope, node, walking, columns, short, rank)
    return [replace(v, ndim=rank) if isinstance(v, Index) and v in columns else v for v in vectors]


def _beside_loose(
    scope: Scope, node: ast.expr, walking: list[Index], columns: list[Index], short: Shorter, rank: int
) -> list[Index]:
    """The vectors of fewer dimensions that get ``rank`` of them, in an access whose other ranks depend on sizes."""
    fixed = [v for v in walking if v.loose is None and v not in columns]
    if columns and (fixed or max(v.ndim for v in columns) > short.rank):
        raise Refuse(node, CODE, LOOSE, HELP)
    if fixed:
        _check_fixed(scope, node, fixed, short, rank)
    return fixed or columns


def _columns(base: Operand, vectors: list[Value | None], rank: int) -> list[Index]:
    """The columns, ``i[:, None]``, of fewer dimensions that are columns still: they walk the partitions.

    On chip that is the first index, and others on its axis.
    """
    found = [v for v in vectors if isinstance(v, Index) and v.terms and 1 < v.ndim < rank and v.loose is None]
    found = [v for v in found if all(t.position == 0 for t in v.terms) and not v.mates]
    if not isinstance(base.value, Tile):
        return found
    first = vectors[0]
    axes = {t.axis for t in first.terms} if isinstance(first, Index) and first in found else set()
    return [v for v in found if axes & {t.axis for t in v.terms}]


def _check_columns(scope: Scope, node: ast.expr, others: list[Index]) -> None:
    """In HBM a column may mean numpy's dimension where another vector has the first one."""
    for term in (t for v in others for t in (*v.terms, *v.mates)):
        if term.position == 0 and scope.constant(term.axis.size) != 1:
            what = "a column beside index vectors of more dimensions with a first one of their own"
            raise Refuse(node, CODE, what, "write all vectors with the same number of dimensions")


def _check_fixed(scope: Scope, node: ast.expr, fixed: list[Index], short: Shorter, rank: int) -> None:
    """Vectors of a fixed rank beside loose ones: the kernel asserts the sizes at which the ranks are the same."""
    ranks = {v.ndim for v in fixed}
    if not short.rank or ranks not in ({short.rank}, {rank}) or any(v.mates for v in fixed):
        raise Refuse(node, CODE, LOOSE, HELP)
    if ranks == {rank}:
        _assert(scope, " or ".join(f"{algebra.paren(size)} > 1" for size in short.sizes))
        return
    extents = dict.fromkeys(t.axis.size for v in fixed for t in v.terms)
    known = [scope.constant(size) for size in extents]
    if any(n != 1 for n in known):
        alone = [] if any(n not in (None, 1) for n in known) else [_ones(tuple(extents))]
        _assert(scope, " or ".join([_ones(short.sizes), *alone]))


def _ones(sizes: tuple[str, ...]) -> str:
    return " and ".join(f"{algebra.paren(size)} == 1" for size in sizes)


def _assert(scope: Scope, condition: str) -> None:
    """The kernel asserts a condition on sizes, once in a block."""
    if condition not in scope.sizes.named:
        scope.output.lines.append(asserting(condition, "index vectors of one number of dimensions"))
        scope.sizes.named[condition] = "True"


def check_sum(node: ast.expr, a: Index, b: Index) -> None:
    """Vectors whose ranks depend on different sizes, or on none, have no sum of one form."""
    if a.terms and b.terms and a.loose != b.loose:
        raise Refuse(node, CODE, LOOSE, HELP)
