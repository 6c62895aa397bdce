"""Tiles: strided views on one allocation.

A :class:`Tile` is an HBM tensor, an on-chip tile, or a part of either: a view, so that nothing is copied. An
:class:`Access` is a part whose bounds are checked when an instruction reads it, because a mask may still cut it.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from ..errors import KernelError, NotModelled
from ..extents import is_noted, note
from ..memory import Allocation, Array, View, view_of
from ..session import RUNNING
from .base import Shape, Tensor
from .indexing import NO_AXES, Index
from .indirect import Gather, gathered
from .regions import EVERYWHERE, Region, both, region
from .selection import Limit, plain_affine, selection
from .state import State, state
from .subscript import subscripted
from .tokens import PRIVATE_HBM, Buffer, OobMode, Slice, dtype_of

NOTHING: tuple[Any, Any] = (None, None)
"""The ``part_of`` of what is no part."""
_ndarray = np.ndarray


class Tile(Tensor, View):
    """A strided view on one allocation (module docstring).

    ``offset`` and ``strides`` are bytes in the allocation's memory. ``restriction`` is an operand mask, ``indexed_by``
    the index vectors that the tile came from. ``dtype`` is the type that the kernel gave the tile: the elements in
    memory have another one where the simulator's precision keeps them in fp32. ``part_of`` is the tile of which it is
    the part under a key of numbers, slices and index vectors, and this key.
    """

    __slots__ = ("buffer", "dtype", "indexed_by", "offset", "part_of", "restriction", "shape")
    part_of: tuple[Tile, Any]
    limits: tuple[Limit, ...] = ()
    gather: Gather | None = None

    offset: int
    restriction: Region | None
    indexed_by: tuple[Index, ...]

    @property
    def stored(self) -> np.dtype[Any]:
        """The type of the elements in memory."""
        return self.array.dtype

    @property
    def strides(self) -> Shape:
        return self.array.strides

    @property
    def axes(self) -> tuple[frozenset[int], ...]:
        """What each dimension varies with: the axes of the index vectors (none of a tile that none made)."""
        found = [NO_AXES] * len(self.shape) if self.indexed_by else []
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

    def cut(self, where: Region) -> Array:
        """The part of the view that ``where`` leaves; raises for an access that is out of bounds even so."""
        alloc, offset, shape, strides = self.alloc, self.offset, self.shape, self.strides
        if where.box:
            cuts = [where.interval(d, len(shape), n) for d, n in enumerate(shape)]
            lows = [0 if c is None else c.low for c in cuts]
            shape = tuple(n if c is None else c.high - c.low for c, n in zip(cuts, shape, strict=True))
            offset += sum(low * stride for low, stride in zip(lows, strides, strict=True))
        else:
            lows = [0] * len(shape)
        outside = False
        for limit in self.limits:
            outside |= _is_outside(limit, lows, shape, alloc)
        if outside:
            return _array(alloc, self.stored, 0, shape, (0,) * len(shape))
        return _array(alloc, self.stored, offset, shape, strides)

    def view_in(self, where: Region) -> View:
        """The operand of an instruction that executes in ``where``."""
        return view_of(self.alloc, self.cut(where)) if where.box else self

    def skipping(self, mode: Any) -> Tile:
        """This access, where ``oob_mode.skip`` leaves out what is out of bounds."""
        return self

    # --- views ---

    def as_tile(self) -> Tile:
        return self

    def part(self, offset: int, shape: Shape, strides: Shape, limits: tuple[Limit, ...] = ()) -> Tile:
        """Another view on the same allocation, with elements of the same type."""
        if limits:
            return Access(self, offset, shape, strides, limits)
        array = _array(self.alloc, self.stored, offset, shape, strides)
        return tile_of(self.alloc, array, self.dtype, offset, shape, self.buffer)

    def again(self) -> Tile:
        """Another view of the same elements."""
        return tile_of(self.alloc, self.array, self.dtype, self.offset, self.shape, self.buffer)

    def limited(self, limit: Limit) -> Tile:
        """This view, where an index that does not vary over it must be in bounds, too."""
        limits = (*self.limits, replace(limit, coefficients=(0,) * self.ndim))
        found = Access(self, self.offset, self.shape, self.strides, limits, self.gather)
        found.restriction, found.indexed_by = self.restriction, self.indexed_by
        return found

    def restricted(self, mask: Any) -> Tile:
        """``tile[mask]``: an operand of which only the elements under ``mask`` take part."""
        derived = self.again()
        derived.indexed_by = self.indexed_by
        added = region(mask)
        derived.restriction = added if self.restriction is None else both(self.restriction, added)
        return derived

    def gathering(self, shape: Shape, gather: Gather) -> Tile:
        """An indirect access to this tile."""
        return Access(self, self.offset, shape, self.strides, (), gather)

    def placed(self, part: Tile) -> Tile:
        """``part`` of this tile at a place that only the chip knows: events record what was indexed."""
        if not (part.limits or self.limits) and self.gather is None:
            return Indexed(part, self.array)
        return part

    def _derived(self, offset: int, shape: Shape, strides: Shape) -> Tile:
        derived = self.part(offset, shape, strides)
        derived.restriction = self.restriction
        return derived

    def settled(self) -> Tile:
        """This view with its bounds checked (a view of it could not be cut any more)."""
        return self

    def reshape(self, *dims: Any, shape: Any = None) -> Tile:
        """The same elements in another shape, without a copy: ``reshape(a, b)``, ``((a, b))`` or ``(shape=(a, b))``."""
        given = dims if shape is None else (shape,)
        wanted = tuple(given[0]) if given and isinstance(given[0], (tuple, list)) else tuple(given)
        array = self.settled().array
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
        wanted, settled = tuple(int(n) for n in shape), self.settled()
        if settled.shape[:1] == (1,) != wanted[:1] and settled.space != "hbm":
            spread: Tile | None = state().operators.spread_rows(settled, wanted)
            if spread is not None:
                return spread
        array = settled.array
        try:
            repeated = np.broadcast_to(array, wanted)
        except ValueError:
            raise KernelError("", f"cannot broadcast {self!r} to {tuple(shape)}") from None
        found = self._derived(self.offset, repeated.shape, repeated.strides)
        if settled.space != "hbm" and wanted[:1] == (1,) and (recorder := state().machine.recorder) is not None:
            recorder.passes("broadcast_to", found, None)  # one row is not copied to one partition
        return found

    def expand_dims(self, axis: int | tuple[int, ...] | list[int]) -> Tile:
        """The same elements with a dimension of extent 1 at ``axis``, a position in the result (or several)."""
        self.settled()
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
        self.settled()
        if self.dtype != self.stored:
            raise NotModelled("a view with another type in the simulator's precision")
        old, new = self.dtype.itemsize, wanted.itemsize
        shape, strides = self.shape, self.strides
        if old != new:
            nbytes = shape[-1] * old
            if strides[-1] != old or nbytes % new or (self.space == "hbm" and any(n % new for n in strides[:-1])):
                raise KernelError("", f"cannot view {self!r} as {wanted}")
            shape, strides = (*shape[:-1], nbytes // new), (*strides[:-1], new)
        array = _array(self.alloc, wanted, self.offset, shape, strides)
        found = tile_of(self.alloc, array, wanted, self.offset, shape, self.buffer)
        found.restriction = self.restriction
        return found

    def astype(self, dtype: Any) -> Tile:
        """A copy of the tile in ``dtype``."""
        result: Tile = state().operators.copy(self, dtype=dtype)
        return result

    # --- subscripts ---

    @property
    def _is_plain(self) -> bool:
        """Is it a tile whose ``[...]`` is itself?"""
        return len(self.shape) >= 2 and not self.limits and not self.indexed_by and self.restriction is None

    # complexity: every access of a kernel of Beta 1 comes here, so that calls for its parts would be paid each time
    def __getitem__(self, key: Any) -> Tile:
        if key is Ellipsis and self._is_plain:
            return self.settled()
        items = key if type(key) is tuple else (key,)
        keys: list[Any] = []
        vectors: list[Index] = []
        sliced = False
        for k in items:
            kind = type(k)
            if kind is int:
                keys.append(k)
            elif kind is slice:
                keys.append((k.start, k.stop, k.step))
                sliced = True
            elif kind is Index:
                keys.append((k.const, k.form))
                vectors.append(k)
            elif kind is Slice:
                keys.append(k)
                sliced = True
            else:
                break
        found: Tile
        count = len(keys)
        if count < len(items) or count > len(self.shape) or (vectors and (sliced or count < len(self.shape))):
            found = subscripted(self, key)
            return found
        tile = self if type(self) is Tile else self.settled()
        alloc, whole, stored, chosen = tile.alloc, tile.array, tile.array.dtype, tuple(keys)
        itemsize = 0 if alloc.space == "hbm" else stored.itemsize
        part = plain_affine(chosen, tile.shape, whole.strides, itemsize > 0) if vectors else None
        if part is not None:
            offset, shape, strides, limits = part
            cut = None
        elif vectors:
            found = subscripted(self, key)
            found.part_of = self, key
            return found
        else:
            try:
                offset, shape, strides, limits, cut = selection(chosen, tile.shape, whole.strides, itemsize)
            except TypeError:  # a bound that has no hash, or that is no number
                uncached = selection.__wrapped__
                offset, shape, strides, limits, cut = uncached(chosen, tile.shape, whole.strides, itemsize)
        offset += tile.offset
        if limits:
            found = Access(tile, offset, shape, strides, limits)
        else:
            array = _array(alloc, stored, offset, shape, strides) if cut is None else whole[cut]
            found = tile_of(alloc, array, tile.dtype, offset, shape, tile.buffer)
        if vectors:
            found.indexed_by = tuple(vectors)
        found.part_of = self, key
        return found

    def __setitem__(self, key: Any, value: Any) -> None:
        source, known = (self, Ellipsis) if value is self else getattr(value, "part_of", NOTHING)
        if source is self and known is key and self.alloc.space != "hbm":
            return  # tile[key] += x: there it is
        running = RUNNING.get()  # state(), without a call
        current = state() if running is None or type(running.front) is not State else running.front
        current.operators.assign(self if key is Ellipsis else self[key], value)


def tile_of(alloc: Allocation, array: Array, dtype: np.dtype[Any], offset: int, shape: Shape, buffer: Buffer) -> Tile:
    """A tile without an operand mask that is ``array``, a view at ``offset`` of the memory of ``alloc``."""
    made = Tile()
    made.alloc = alloc
    made.array = array
    made.dtype = dtype
    made.offset = offset
    made.shape = shape
    made.buffer = buffer
    made.restriction = None
    made.indexed_by = ()
    return made


class Access(Tile):
    """A part of ``tile`` whose bounds are not known to hold, or an indirect access.

    ``limits`` are the dimensions that may be out of bounds, ``gather`` an indirect access: then ``shape`` is that of
    its indices, and the strides describe the tensor that they index.
    """

    __slots__ = ("_stored", "gather", "limits", "strides")

    def __init__(
        self,
        tile: Tile,
        offset: int,
        shape: Shape,
        strides: Shape,
        limits: tuple[Limit, ...],
        gather: Gather | None = None,
    ) -> None:
        self.alloc = tile.alloc
        self.dtype = tile.dtype
        self._stored = tile.stored
        self.offset = offset
        self.shape = shape
        self.strides = strides  # type: ignore[misc]  # a slot that is filled once
        self.buffer = tile.buffer
        self.restriction = None
        self.indexed_by = ()
        self.limits = limits
        self.gather = gather

    @property
    def stored(self) -> np.dtype[Any]:
        return self._stored

    @property
    def array(self) -> Array:  # type: ignore[override]  # a field of the base
        """The view as a numpy array on the memory; raises for an access out of bounds."""
        return self.cut(EVERYWHERE)

    def view_in(self, where: Region) -> View:
        if self.gather is not None or where.residual:
            return gathered(self, where)
        return view_of(self.alloc, self.cut(where))

    def skipping(self, mode: Any) -> Tile:
        if self.gather is None or mode != OobMode.skip:
            return self
        derived = Access(self, self.offset, self.shape, self.strides, (), replace(self.gather, skip=True))
        derived.restriction = self.restriction
        return derived

    def again(self) -> Tile:
        return Access(self, self.offset, self.shape, self.strides, self.limits, self.gather)

    def settled(self) -> Tile:
        if self.gather is not None:
            raise NotModelled("a view of an indirect access")
        self.cut(EVERYWHERE)
        return self


class Indexed(Tile):
    """A ``part`` of ``whole`` at a place that a register tells."""

    __slots__ = ("whole",)

    def __init__(self, part: Tile, whole: Array) -> None:
        self.alloc = part.alloc
        self.array = part.array
        self.dtype = part.dtype
        self.offset = part.offset
        self.shape = part.shape
        self.buffer = part.buffer
        self.restriction = None
        self.indexed_by = ()
        self.whole = whole

    @property
    def place(self) -> Array:
        return self.whole


def _array(alloc: Allocation, dtype: np.dtype[Any], offset: int, shape: Shape, strides: Shape) -> Array:
    """A view on the memory of ``alloc``; ``offset`` and ``strides`` are bytes."""
    base = alloc.memory if alloc.whole is None else alloc.whole
    if 0 in shape:
        offset = min(offset, base.nbytes)  # it may begin behind the end
    found: Array = _ndarray(shape, dtype, base, offset, strides)
    return found


def _is_outside(limit: Limit, lows: list[int], shape: Shape, alloc: Allocation) -> bool:
    """Is an access out of bounds, and noted (:mod:`.extents`)? Raises where it is and is not."""
    first = last = limit.const
    for coefficient, low, count in zip(limit.coefficients, lows, shape, strict=True):
        if not count:
            return False
        start, end = coefficient * low, coefficient * (low + count - 1)
        first += min(start, end)
        last += max(start, end)
    if first >= 0 and last < limit.size:
        return False
    if first >= 0 and is_noted():
        note(alloc, limit.dimension, limit.size, int(last))
        return True
    raise KernelError(
        "err_tensor_access_out_of_bound",
        f"Out-of-bound access for tensor `{alloc.name}` on dimension {limit.dimension}: index range [{first}, {last}] "
        f"exceed dimension size of {limit.size}",
    )


def whole(alloc: Allocation, buffer: Buffer = PRIVATE_HBM) -> Tile:
    """The tile that is all of ``alloc``."""
    array = alloc.whole
    if array is not None:
        return tile_of(alloc, array.view(), array.dtype, 0, alloc.declaration.shape, buffer)
    array, (row, byte) = alloc.array(), alloc.origin
    return tile_of(alloc, array, array.dtype, row * alloc.pitch + byte, array.shape, buffer)
