"""Tiles: strided views on one allocation.

A :class:`Tile` is metadata of an HBM tensor, an on-chip tile, or a part of either. Nothing is copied until an
instruction reads it, and bounds are checked then, because a mask may still cut the access.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from ..errors import KernelError, NotModelled
from ..memory import Allocation, Array, View, row_major_strides
from .base import Shape, Tensor, sibling
from .indexing import EVERYWHERE, Index, Region, region
from .selection import Limit, selection
from .tokens import PRIVATE_HBM, Buffer, OobMode, Slice, dtype_of


@dataclass(frozen=True)
class Gather:
    """The integer index arrays of an indirect access, one a dimension of the tensor of ``shape`` that it indexes.

    With ``skip``, elements out of bounds are left alone. ``free``: do runtime values vary along the free dimension?
    """

    shape: Shape
    indices: tuple[Array, ...]
    skip: bool = False
    free: bool = False


_NO_AXES = frozenset[int]()
_NOTHING = (None, None)
_AFFINE = frozenset((int, Index))
_ndarray = np.ndarray


class Tile(Tensor):
    """A strided view on one allocation (module docstring).

    ``offset`` and ``strides`` are bytes in the allocation's memory. ``limits`` are the dimensions whose bounds are not
    known to hold, ``gather`` an indirect access (then ``shape`` is that of its indices and the strides describe the
    tensor that they index). ``restriction`` is an operand mask, ``indexed_by`` the index vectors that the tile came
    from. ``dtype`` is the type that the kernel gave the tile, ``stored`` that of the elements in memory: another one
    where the simulator's precision keeps them in fp32. ``part_of`` is the tile of which it is the part under a key of
    numbers, slices and index vectors, and this key. ``known_view`` is the operand that all of it is, once asked for.
    """

    __slots__ = (
        "alloc",
        "buffer",
        "dtype",
        "gather",
        "indexed_by",
        "known_view",
        "limits",
        "offset",
        "part_of",
        "restriction",
        "shape",
        "stored",
        "strides",
    )
    part_of: tuple[Tile, Any]

    def __init__(
        self,
        alloc: Allocation,
        dtype: np.dtype[Any],
        offset: int,
        shape: Shape,
        strides: Shape,
        buffer: Buffer,
        limits: tuple[Limit, ...] = (),
    ) -> None:
        self.alloc = alloc
        self.known_view: View | None = None
        self.dtype = self.stored = dtype
        self.shape = shape
        self.offset = offset
        self.strides = strides
        self.buffer = buffer
        self.limits = limits
        self.gather: Gather | None = None
        self.restriction: Region | None = None
        self.indexed_by: tuple[Index, ...] = ()

    @property
    def axes(self) -> tuple[frozenset[int], ...]:
        """What each dimension varies with: the axes of the index vectors (none of a tile that none made)."""
        found = [_NO_AXES] * len(self.shape) if self.indexed_by else []
        for vector in self.indexed_by:
            for r, axes in enumerate(vector.axes, start=len(found) - len(vector.axes)):
                found[r] = found[r] | axes
        return tuple(found)

    @property
    def space(self) -> str:
        return self.alloc.space

    @property
    def name(self) -> str:
        return self.alloc.name

    @property
    def shape_2d(self) -> tuple[int, int]:
        return self.shape[0], prod(self.shape[1:])

    def __repr__(self) -> str:
        return f"{self.dtype} {self.name}[{', '.join(map(str, self.shape))}] in {self.space}"

    # --- memory ---

    @property
    def array(self) -> Array:
        """The view as a numpy array on the memory; raises for an access out of bounds."""
        return self.cut(EVERYWHERE)

    def cut(self, where: Region) -> Array:
        """The part of the view that ``where`` leaves; raises for an access that is out of bounds even so."""
        return self._cut(where) if where.box else (self.known_view or self._whole()).array

    def _whole(self) -> View:
        """All of the tile as an operand: ``known_view`` from then on."""
        alloc = self.alloc
        if self.limits:
            array = self._cut(EVERYWHERE)
        else:
            base = alloc.memory if alloc.whole is None else alloc.whole
            array = _ndarray(self.shape, self.stored, base, self.offset, self.strides)
        self.known_view = view = View(alloc, array)
        return view

    def _cut(self, where: Region) -> Array:
        alloc, offset, shape, strides = self.alloc, self.offset, self.shape, self.strides
        if where.box:
            cuts = [where.interval(d, len(shape), n) for d, n in enumerate(shape)]
            lows = [0 if c is None else c.low for c in cuts]
            shape = tuple(n if c is None else c.high - c.low for c, n in zip(cuts, shape, strict=True))
            offset += sum(low * stride for low, stride in zip(lows, strides, strict=True))
        else:
            lows = [0] * len(shape)
        for limit in self.limits:
            _check(limit, lows, shape, self.name)
        found: Array = np.ndarray(shape, self.stored, buffer=alloc.base, offset=offset, strides=strides)
        return found

    def view_in(self, where: Region) -> View:
        """The operand of an instruction that executes in ``where``."""
        if self.gather is not None or (where.residual and self.limits):
            gathered: View = sibling("indirect").gathered(self, where)
            return gathered
        if where.box:
            return View(self.alloc, self._cut(where))
        return self._whole() if self.known_view is None else self.known_view

    def skipping(self, mode: Any) -> Tile:
        """This access, where ``oob_mode.skip`` leaves out what is out of bounds."""
        if self.gather is None or mode != OobMode.skip:
            return self
        derived = self._derived(self.offset, self.shape, self.strides)
        derived.gather = replace(self.gather, skip=True)
        return derived

    # --- views ---

    def as_tile(self) -> Tile:
        return self

    def part(self, offset: int, shape: Shape, strides: Shape, limits: tuple[Limit, ...] = ()) -> Tile:
        """Another view on the same allocation, with elements of the same type."""
        found = Tile(self.alloc, self.dtype, offset, shape, strides, self.buffer, limits)
        if self.stored is not self.dtype:
            found.stored = self.stored
        return found

    def limited(self, limit: Limit) -> Tile:
        """This view, where an index that does not vary over it must be in bounds, too."""
        limits = (*self.limits, replace(limit, coefficients=(0,) * self.ndim))
        found = self.part(self.offset, self.shape, self.strides, limits)
        found.gather, found.restriction, found.indexed_by = self.gather, self.restriction, self.indexed_by
        return found

    def _derived(self, offset: int, shape: Shape, strides: Shape) -> Tile:
        derived = self.part(offset, shape, strides)
        derived.restriction = self.restriction
        return derived

    def _settled(self) -> Tile:
        """This view with its bounds checked (a view of it could not be cut any more)."""
        if self.gather is not None:
            raise NotModelled("a view of an indirect access")
        if self.limits:
            self.cut(EVERYWHERE)
        return self

    def reshape(self, *dims: Any, shape: Any = None) -> Tile:
        """The same elements in another shape, without a copy: ``reshape(a, b)``, ``((a, b))`` or ``(shape=(a, b))``."""
        given = dims if shape is None else (shape,)
        wanted = tuple(given[0]) if given and isinstance(given[0], (tuple, list)) else tuple(given)
        array = self._settled().array
        if self.space != "hbm" and int(wanted[0]) not in (-1, self.shape[0]):
            raise KernelError("", f"reshaping {self!r} to {wanted} would change its partition dimension")
        try:
            reshaped: Array = array.reshape([int(n) for n in wanted])
        except ValueError:
            raise KernelError("", f"cannot reshape {self!r} to {wanted}") from None
        if reshaped.size and not np.may_share_memory(reshaped, array):
            raise KernelError("", f"reshaping {self!r} to {wanted} would need a copy")
        return self._derived(self.offset, reshaped.shape, reshaped.strides)

    def broadcast_to(self, shape: Any) -> Tile:
        """The same elements repeated by strides of 0, as numpy's ``broadcast_to``; over partitions they are copied."""
        from .composites import spread_rows

        spread = spread_rows(self._settled(), tuple(int(n) for n in shape))
        if spread is not None:
            return spread
        array = self._settled().array
        try:
            repeated = np.broadcast_to(array, tuple(int(n) for n in shape))
        except ValueError:
            raise KernelError("", f"cannot broadcast {self!r} to {tuple(shape)}") from None
        return self._derived(self.offset, repeated.shape, repeated.strides)

    def expand_dims(self, axis: int | tuple[int, ...] | list[int]) -> Tile:
        """The same elements with a dimension of extent 1 at ``axis``, a position in the result (or several)."""
        self._settled()
        given = axis if isinstance(axis, (tuple, list)) else (axis,)
        rank = self.ndim + len(given)
        at = {int(a) if a >= 0 else rank + int(a) for a in given}
        if len(at) != len(given) or any(not 0 <= a < rank for a in at):
            raise KernelError("", f"cannot expand {self!r} at {axis}")
        kept = iter(zip(self.shape, self.strides, strict=True))
        pairs = [(1, 0) if d in at else next(kept) for d in range(rank)]
        return self._derived(self.offset, tuple(n for n, _ in pairs), tuple(s for _, s in pairs))

    def view(self, dtype: Any) -> Tile:
        """The same bytes read as ``dtype``; the last dimension grows or shrinks with the item size."""
        wanted = dtype_of(dtype)
        self._settled()
        if self.dtype != self.stored:
            raise NotModelled("a view with another type in the simulator's precision")
        old, new = self.dtype.itemsize, wanted.itemsize
        shape, strides = self.shape, self.strides
        if old != new:
            nbytes = shape[-1] * old
            if strides[-1] != old or nbytes % new or (self.space == "hbm" and any(n % new for n in strides[:-1])):
                raise KernelError("", f"cannot view {self!r} as {wanted}")
            shape, strides = (*shape[:-1], nbytes // new), (*strides[:-1], new)
        found = self._derived(self.offset, shape, strides)
        found.dtype = found.stored = wanted
        return found

    def astype(self, dtype: Any) -> Tile:
        """A copy of the tile in ``dtype``."""
        from .movement import copy

        result: Tile = copy(self, dtype=dtype)
        return result

    # --- subscripts ---

    @property
    def _is_plain(self) -> bool:
        """Is it a tile whose ``[...]`` is itself?"""
        return len(self.shape) >= 2 and not self.limits and not self.indexed_by and self.restriction is None

    def __getitem__(self, key: Any) -> Tile:
        if key is Ellipsis and self._is_plain:
            return self._settled()
        items = key if type(key) is tuple else (key,)
        keys: list[Any] = []
        vectors: list[Index] = []
        for k in items:
            kind = type(k)
            if kind is slice:
                keys.append((k.start, k.stop, k.step))
            elif kind is int or kind is Slice:
                keys.append(k)
            elif kind is Index:
                keys.append((k.const, k.form))
                vectors.append(k)
            else:
                break
        found: Tile
        if len(keys) < len(items) or len(keys) > len(self.shape):
            found = sibling("subscript").subscripted(self, key)
            return found
        if not vectors:
            found = self.selected(tuple(keys))
        elif len(keys) == len(self.shape) and _AFFINE.issuperset(map(type, items)):
            found = sibling("subscript").affine_part(self, items, tuple(keys), tuple(vectors))
        else:
            found = sibling("subscript").subscripted(self, key)
            return found
        found.part_of = self, key
        return found

    def selected(self, keys: tuple[Any, ...]) -> Tile:
        """What ints, slices and ``nl.ds`` select (:func:`.selection.selection`)."""
        tile = self if type(self) is Tile and self.gather is None and not self.limits else self._settled()
        itemsize = 0 if tile.alloc.space == "hbm" else tile.stored.itemsize
        try:
            offset, shape, strides, limits = selection(keys, tile.shape, tile.strides, itemsize)
        except TypeError:  # a bound that has no hash, or that is no number
            offset, shape, strides, limits = selection.__wrapped__(keys, tile.shape, tile.strides, itemsize)
        found = Tile(tile.alloc, tile.dtype, tile.offset + offset, shape, strides, tile.buffer, limits)
        if tile.stored is not tile.dtype:
            found.stored = tile.stored
        return found

    def __setitem__(self, key: Any, value: Any) -> None:
        source, known = (self, Ellipsis) if value is self else getattr(value, "part_of", _NOTHING)
        if source is self and known is key and self.alloc.space != "hbm":
            return  # tile[key] += x: there it is
        sibling("assignment").assign(self if key is Ellipsis else self[key], value)


def restricted(tile: Tile, mask: Any) -> Tile:
    """``tile[mask]``: an operand of which only the elements under ``mask`` take part."""
    derived = tile.part(tile.offset, tile.shape, tile.strides, tile.limits)
    derived.gather = tile.gather
    derived.indexed_by = tile.indexed_by
    added = region(mask)
    derived.restriction = added if tile.restriction is None else both(tile.restriction, added)
    return derived


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
        box[d] = type(interval)(max(interval.low, known.low), min(interval.high, known.high), interval.extent)
        if box[d].low >= box[d].high:
            return Region(a.rank, {}, (), True)
    return Region(a.rank, box, a.residual + b.residual)


def _check(limit: Limit, lows: list[int], shape: Shape, name: str) -> None:
    first = last = limit.const
    for coefficient, low, count in zip(limit.coefficients, lows, shape, strict=True):
        if not count:
            return
        start, end = coefficient * low, coefficient * (low + count - 1)
        first += min(start, end)
        last += max(start, end)
    if first < 0 or last >= limit.size:
        raise KernelError(
            "err_tensor_access_out_of_bound",
            f"Out-of-bound access for tensor `{name}` on dimension {limit.dimension}: index range [{first}, {last}] "
            f"exceed dimension size of {limit.size}",
        )


def whole(alloc: Allocation, buffer: Buffer = PRIVATE_HBM) -> Tile:
    """The tile that is all of ``alloc``."""
    array = alloc.whole
    if array is not None:
        return Tile(alloc, array.dtype, 0, array.shape, array.strides, buffer)
    pitch = alloc.pitch
    strides = (pitch, *row_major_strides(alloc.shape[1:], alloc.dtype.itemsize))
    return Tile(alloc, alloc.dtype, alloc.origin[0] * pitch + alloc.origin[1], alloc.shape, strides, buffer)
