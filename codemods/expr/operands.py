"""One tensor operand: which part of which tensor it is, and how Beta 2 writes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from . import algebra
from .values import EITHER, Axis, Hbm, Tile

if TYPE_CHECKING:
    from .frames import Clamp


@dataclass(frozen=True)
class Step:
    """One pair of an access pattern: elements from one index to the next, and how many."""

    stride: str
    count: str


@dataclass(frozen=True)
class Item:
    """One dimension of a subscript: ``count`` elements from ``start``; ``raw`` is the author's own text.

    ``implied`` dimensions stand behind the last one that the author wrote.
    """

    start: str
    count: str
    full: bool = False
    point: bool = False
    raw: str = ""
    implied: bool = False

    def text(self, nl: str) -> str:
        if self.point:
            return self.start
        if self.raw or self.full:
            return self.raw or ":"
        count = self.count
        if self.start == "0":
            return f"0:{count}"
        if self.start.isdigit() and count.isdigit():
            return f"{self.start}:{int(self.start) + int(count)}"
        if count == "1":
            return f"{self.start}:{algebra.add(self.start, '1')}"
        return f"{nl}.ds({self.start}, {count})"


@dataclass(frozen=True)
class Operand:
    """A tensor operand: how to write it, and what it is.

    ``dims`` are the extents of the access; ``items[sources[r]]`` is the dimension of the base that result dimension
    ``r`` walks (``None`` for an extent of 1 that no dimension stands for), ``axes[r]`` its index vector's axis.
    ``rows_at`` is the (rows, 1) tile that names the rows of a dynamic access, ``joined`` says that they are those of
    several tensors in one: a row that is out of bounds may be one of another. ``loose`` accesses have fewer dimensions
    in Beta 1 where sizes are 1. ``first`` is where a ``pattern`` starts in the first dimension, a part of ``offset``.
    ``reads`` is the name of the first tensor that a call reads which stands in its place.
    """

    base: str
    value: Hbm | Tile
    dims: tuple[str, ...] | None
    items: tuple[Item, ...] | None = None
    sources: tuple[int | None, ...] = ()
    axes: tuple[Axis | None, ...] = ()
    nl: str = "nl"
    is_view: bool = False
    shape: str = ""
    pattern: tuple[Step, ...] | None = None
    offset: str = "0"
    first: str = "0"
    dynamic: str = ""
    rows_at: Operand | None = None
    joined: bool = False
    origin: Operand | None = None
    prefix: tuple[str, ...] = ()
    loose: bool = False
    reads: str = field(default="", compare=False)

    @property
    def like(self) -> str:
        """The shape of the access as source text, where its dimensions are not known one by one."""
        whole = self.items is None and self.pattern is None
        return self.shape or (f"{self.base}.shape" if whole else "")

    @property
    def dtype(self) -> str | None:
        return self.value.dtype

    @property
    def space(self) -> str:
        return self.value.space if isinstance(self.value, Tile) else "hbm"

    @property
    def perhaps_psum(self) -> bool:
        """May the tensor be in PSUM?"""
        return self.space in ("psum", EITHER)

    @property
    def known_dims(self) -> tuple[str, ...] | None:
        """The extents, where it is certain that the subscript names all dimensions of its tensor."""
        return None if self.prefix or self.is_row_slice else self.dims

    @property
    def is_row_slice(self) -> bool:
        """Is it ``x[a:b]`` of a tensor in HBM, of which nothing tells what dimensions follow?"""
        one = self.value.dims is None and self.items is not None and len(self.items) == 1
        return one and isinstance(self.value, Hbm) and self.axes == (None,)

    @property
    def rows(self) -> str:
        return self.dims[0] if self.dims else "1"

    def text(self, clamps: Sequence[Clamp]) -> str:
        """The operand as Beta 2 source, cut by the clamps of a mask."""
        cuts = self.cuts(clamps)
        if self.pattern is not None:
            pairs = (f"[{s.stride}, {cuts[r].size if r in cuts else s.count}]" for r, s in enumerate(self.pattern))
            skipped = (algebra.multiply(self.pattern[r].stride, clamp.start) for r, clamp in cuts.items())
            start = algebra.add(self.offset, *skipped)
            offset = "" if start == "0" else f", offset={start}"
            return f"{self.base}.ap(pattern=[{', '.join(pairs)}]{offset}{self._dynamic_text(clamps)})"
        if self.items is None:
            if not cuts or self.dims is None:
                return self.base
            whole = [cut_item(Item("0", size, full=True), cuts.get(d)) for d, size in enumerate(self.dims)]
            return f"{self.base}[{', '.join(item.text(self.nl) for item in whole)}]"
        if not cuts and all(item.full for item in self.items):
            return self.base
        written = len(self.items)
        while self.items[written - 1].implied and written - 1 not in cuts:
            written -= 1
        parts = [cut_item(item, cuts.get(d)).text(self.nl) for d, item in enumerate(self.items[:written])]
        return f"{self.base}[{', '.join(parts)}]"

    def _dynamic_text(self, clamps: Sequence[Clamp]) -> str:
        """What an access says of its tiles of indices; a mask that cuts the rows cuts the tile that names them."""
        if self.rows_at is None:
            return self.dynamic
        rows = [clamp for clamp in clamps if clamp.position == 0]
        return f", vector_offset={self.rows_at.text(rows)}, indirect_dim=0"

    def cuts(self, clamps: Sequence[Clamp]) -> dict[int, Clamp]:
        """The clamps that cut something, by dimension of the base (or pair of the pattern)."""
        cuts: dict[int, Clamp] = {}
        for clamp in clamps:
            result = cut_dimension(clamp, len(self.dims or ()))
            if not self.dims or result is None or self.dims[result] == "1":
                continue
            source = self.sources[result] if self.items is not None else result
            if source is not None:
                cuts[source] = clamp
        return cuts


def cut_item(item: Item, clamp: Clamp | None) -> Item:
    """What a mask's bounds leave of one dimension of a subscript."""
    if clamp is None or item.point:
        return item
    start = algebra.add(item.start, clamp.start)
    if item.start.startswith("-") and clamp.start != "0":
        start = algebra.subtract(clamp.start, algebra.subtract("0", item.start))
    number = algebra.constant(start, {})
    start = start if number is None or number < 0 else str(number)
    return replace(item, start=start, count=clamp.size, full=False, raw="")


def cut_dimension(clamp: Clamp, rank: int) -> int | None:
    """The dimension of an operand of ``rank`` that a mask's bound cuts: partitions first, the others from the right."""
    if clamp.position == 0:
        return 0 if rank else None
    position = clamp.position + rank - clamp.ndim
    return position if 0 < position < rank else None
