"""Where an instruction executes: the part of an operand that a mask leaves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, floor
from typing import Any

import numpy as np

from ..errors import KernelError, NotModelled
from ..memory import Array
from .indexing import COMPARE, NO_AXES, PREDICATES, Comparison, Index, Mask, Number, broadcast, padded, vector_of


@dataclass(frozen=True)
class Interval:
    """Positions ``[low, high)`` of one dimension of ``extent``."""

    low: int
    high: int
    extent: int


@dataclass(frozen=True)
class Region:
    """Where an instruction executes: a box of positions, and conditions that no box can express.

    ``rank`` and the keys of ``box`` count dimensions as the mask does. ``residual`` conditions involve several
    dimensions. ``valid`` are booleans over the cut result: the elements that an indirect access found in bounds.
    """

    rank: int
    box: dict[int, Interval]
    residual: tuple[Comparison, ...] = ()
    skip: bool = False
    valid: Array | None = None

    def interval(self, d: int, ndim: int, extent: int) -> Interval | None:
        """The interval for dimension ``d`` (of ``extent``) of an operand with ``ndim`` dimensions, if it is cut."""
        found = self.box.get(self.mask_dimension(d, ndim))
        if found is None or extent == 1 != found.extent:
            return None
        if extent < found.extent and found.high > extent:
            return Interval(min(found.low, extent), extent, extent)
        return found

    def mask_dimension(self, d: int, ndim: int) -> int:
        """The mask's dimension for an operand's: partitions are first in both, the others are aligned at the right."""
        return d if d == 0 or ndim == self.rank else d - ndim + self.rank if d - ndim + self.rank > 0 else -1

    def without(self, axes: tuple[int, ...]) -> Region:
        """The region of a result that lost the dimensions ``axes``."""
        kept = [d for d in range(self.rank) if d not in axes]
        box = {new: self.box[old] for new, old in enumerate(kept) if old in self.box}
        return Region(len(kept), box, (), self.skip)

    def choosing(self, chosen: Array) -> Region:
        """This box with ``chosen`` (booleans over the cut result) in place of its other conditions."""
        return replace(self, residual=(), valid=chosen)

    def where(self, shape: tuple[int, ...]) -> Array | None:
        """The conditions that are no box as booleans over the (cut) result of ``shape``.

        ``None`` when there are none.
        """
        if not self.residual:
            return self.valid
        chosen = Mask(self.residual).values()
        cut = tuple(
            slice(self.box[d].low, self.box[d].high) if d in self.box and n > 1 else slice(None)
            for d, n in zip(range(self.rank - chosen.ndim, self.rank), chosen.shape, strict=True)
        )
        left = chosen[cut]
        if len(left.shape) > len(shape) or any(
            n not in (1, m) for n, m in zip(left.shape[::-1], shape[::-1], strict=False)
        ):
            raise KernelError("", f"a mask over {list(left.shape)} elements does not fit a tile of {list(shape)}")
        within = np.broadcast_to(left, shape)
        return within if self.valid is None else within & self.valid


EVERYWHERE = Region(0, {})
NOWHERE = Region(0, {}, (), True)


def both(a: Region, b: Region) -> Region:
    """Where ``a`` and ``b`` hold."""
    if a.skip or b.skip:
        return Region(max(a.rank, b.rank), {}, (), True)
    if not a.rank or not b.rank:
        return a if a.rank else b
    if a.rank != b.rank:
        raise NotModelled("masks of different ranks on one operand")
    box = dict(a.box)
    for d, interval in b.box.items():
        known = box.get(d, interval)
        box[d] = Interval(max(interval.low, known.low), min(interval.high, known.high), interval.extent)
        if box[d].low >= box[d].high:
            return Region(a.rank, {}, (), True)
    return Region(a.rank, box, a.residual + b.residual)


def region(mask: Any) -> Region:
    """What ``mask`` (``None``, a bool, or a :class:`Mask`) leaves of an instruction."""
    if mask is None or mask is True:
        return EVERYWHERE
    if isinstance(mask, (*PREDICATES, int)):
        return EVERYWHERE if bool(mask) else NOWHERE
    if not isinstance(mask, Mask):
        raise KernelError(
            "err_unsupported_expression_in_mask",
            f"a mask must be made of affine comparisons of index vectors, got {type(mask).__name__}",
        )
    return _left_by(tuple([(c.op, c.difference.const, *c.difference.form) for c in mask.comparisons]))


@lru_cache(4096)
def _left_by(conditions: tuple[tuple[str, Number, tuple[int, ...], tuple[int, ...]], ...]) -> Region:
    """The region where all of ``conditions`` hold: each an operator, and what it compares with 0.

    That is the constant, the extents and the coefficients of an index vector. A loop asks the same again and again.
    """
    rank = max(len(extents) for _, _, extents, _ in conditions)
    broadcast(*(extents for _, _, extents, _ in conditions))
    box: dict[int, Interval] = {}
    residual = []
    for op, const, extents, coefficients in conditions:
        difference = padded(vector_of(const, extents, coefficients, (NO_AXES,) * len(extents)), rank)
        varying = [d for d in range(rank) if difference.coefficients[d] and difference.extents[d] > 1]
        if not varying:
            if not bool(COMPARE[op](difference.const, 0)):
                return NOWHERE
            continue
        solved = _solved(difference, varying[0], op) if len(varying) == 1 else None
        if solved is None:
            residual.append(Comparison(difference, op))
            continue
        known = box.get(varying[0])
        if known is not None:
            solved = Interval(max(solved.low, known.low), min(solved.high, known.high), solved.extent)
        if solved.low >= solved.high:
            return NOWHERE
        box[varying[0]] = solved
    cut = {d: i for d, i in box.items() if (i.low, i.high) != (0, i.extent)}
    if not cut and not residual:
        return EVERYWHERE
    return _tightened(Region(rank, cut, tuple(residual)))


def _tightened(found: Region) -> Region:
    """The region without rows behind the last one in which anything runs, where only conditions say so."""
    if not found.residual or found.rank != 2 or found.box:
        return found
    chosen = Mask(found.residual).values()
    if chosen.ndim != 2 or 1 in chosen.shape:
        return found
    if chosen.all():
        return EVERYWHERE
    rows, count = np.flatnonzero(chosen.any(axis=1)), chosen.shape[0]
    if not rows.size:
        return NOWHERE
    last = int(rows[-1]) + 1
    return replace(found, box={0: Interval(0, last, count)}) if last < count else found


def _solved(difference: Index, d: int, op: str) -> Interval | None:
    """Positions along ``d`` where ``difference op 0`` holds; ``None`` when they are not one interval."""
    c, k, n = difference.coefficients[d], difference.const, difference.extents[d]
    if op in ("greater", "greater_equal"):
        c, k, op = -c, -k, {"greater": "less", "greater_equal": "less_equal"}[op]
    if op in ("equal", "not_equal"):
        g = -k / c
        hit = g == int(g) and 0 <= g < n
        if op == "equal":
            return Interval(int(g), int(g) + 1, n) if hit else Interval(0, 0, n)
        return None if hit else Interval(0, n, n)
    most = floor(-k) if op == "less_equal" else ceil(-k) - 1
    if c > 0:
        return Interval(0, max(0, min(n, most // c + 1)), n)
    return Interval(max(0, min(n, -(most // -c))), n, n)
