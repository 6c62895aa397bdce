"""Tensors as a Beta 1 kernel sees them.

A :class:`Tile` is metadata of a strided view on one allocation: an HBM tensor, an on-chip tile, or a part of either. Nothing
is copied until an instruction reads it, and bounds are checked then, because a mask may still cut the access. A
:class:`BlockTensor` is a grid of logical tiles, each an allocation of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from ..errors import KernelError, NotModelled
from ..memory import Allocation, Array, View, row_major_strides
from .indexing import EVERYWHERE, Index, Mask, Number, Region, broadcast, region
from .tokens import PRIVATE_HBM, Buffer, OobMode, ParDim, dtype_of
from .typing import Annotation

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Limit:
    """How one dimension of ``size`` is indexed: ``const + sum(coefficients[r] * position[r])``."""

    dimension: int
    size: int
    const: Number
    coefficients: tuple[int, ...]


@dataclass(frozen=True)
class Gather:
    """The integer index arrays of an indirect access, one a dimension of the tensor of ``shape`` that it indexes.

    With ``skip``, elements out of bounds are left alone.
    """

    shape: Shape
    indices: tuple[Array, ...]
    skip: bool = False


class Tensor:
    """What all tensors have in common: attributes, views, and operators."""

    __slots__ = ()
    __array_ufunc__ = None
    shape: Shape
    dtype: np.dtype[Any]
    buffer: Buffer

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    def assert_shape(self, shape: Any) -> Tensor:
        """Return the tensor, or raise when its shape is not ``shape``."""
        if tuple(self.shape) != tuple(shape):
            raise KernelError("", f"tensor has shape {tuple(self.shape)}, expected {tuple(shape)}")
        return self

    def __class_getitem__(cls, shape: Any) -> Annotation:
        """``nt.tensor[128, 512]``: an annotation that is checked."""
        return Annotation()[shape]

    def as_tile(self) -> Tile:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Any]:
        raise NotModelled("iterating over a tensor")

    def __array__(self, *args: object, **kwargs: object) -> Any:
        raise NotModelled("a tensor passed to a numpy function")

    def __bool__(self) -> bool:
        if prod(self.shape) == 1:
            raise KernelError(
                "err_dynamic_control_flow_not_supported",
                "dynamic control-flow depending on tensor value is not supported.",
            )
        raise KernelError(
            "err_ambiguous_tensor_truth_value",
            "The truth value of an array with more than one element is ambiguous",
        )

    __hash__ = object.__hash__

    def _binary(self, op: str, other: Any, swapped: bool = False) -> Any:
        from .arithmetic import operator_result

        return operator_result(op, other, self) if swapped else operator_result(op, self, other)

    def __add__(self, other: Any) -> Any:
        return self._binary("add", other)

    def __radd__(self, other: Any) -> Any:
        return self._binary("add", other, True)

    def __sub__(self, other: Any) -> Any:
        return self._binary("subtract", other)

    def __rsub__(self, other: Any) -> Any:
        return self._binary("subtract", other, True)

    def __mul__(self, other: Any) -> Any:
        return self._binary("multiply", other)

    def __rmul__(self, other: Any) -> Any:
        return self._binary("multiply", other, True)

    def __truediv__(self, other: Any) -> Any:
        return self._binary("divide", other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._binary("divide", other, True)

    def __pow__(self, other: Any) -> Any:
        return self._binary("power", other)

    def __rpow__(self, other: Any) -> Any:
        return self._binary("power", other, True)

    def __mod__(self, other: Any) -> Any:
        return self._binary("mod", other)

    def __rmod__(self, other: Any) -> Any:
        return self._binary("mod", other, True)

    def __and__(self, other: Any) -> Any:
        return self._binary("bitwise_and", other)

    __rand__ = __and__

    def __or__(self, other: Any) -> Any:
        return self._binary("bitwise_or", other)

    __ror__ = __or__

    def __xor__(self, other: Any) -> Any:
        return self._binary("bitwise_xor", other)

    __rxor__ = __xor__

    def __lshift__(self, other: Any) -> Any:
        return self._binary("left_shift", other)

    def __rshift__(self, other: Any) -> Any:
        return self._binary("right_shift", other)

    def __lt__(self, other: Any) -> Any:
        return self._binary("less", other)

    def __le__(self, other: Any) -> Any:
        return self._binary("less_equal", other)

    def __gt__(self, other: Any) -> Any:
        return self._binary("greater", other)

    def __ge__(self, other: Any) -> Any:
        return self._binary("greater_equal", other)

    def __eq__(self, other: Any) -> Any:
        return False if other is None else self._binary("equal", other)

    def __ne__(self, other: Any) -> Any:
        return True if other is None else self._binary("not_equal", other)

    def __neg__(self) -> Any:
        from .arithmetic import negated

        return negated(self)

    def __invert__(self) -> Any:
        from .arithmetic import inverted

        return inverted(self)

    def __iadd__(self, other: Any) -> Any:
        return self._updated("add", other)

    def __isub__(self, other: Any) -> Any:
        return self._updated("subtract", other)

    def __imul__(self, other: Any) -> Any:
        return self._updated("multiply", other)

    def __itruediv__(self, other: Any) -> Any:
        return self._updated("divide", other)

    def _updated(self, op: str, other: Any) -> Any:
        from .assignment import update

        return update(self, op, other)


class Tile(Tensor):
    """A strided view on one allocation (module docstring).

    ``offset`` and ``strides`` are bytes in the allocation's memory. ``limits`` are the dimensions whose bounds are not known
    to hold, ``gather`` an indirect access (then ``shape`` is that of its indices and the strides describe the tensor that
    they index). ``restriction`` is an operand mask, ``axes`` the index vectors that each dimension came from.
    """

    __slots__ = ("_alloc", "_dtype", "_shape", "axes", "buffer", "gather", "limits", "offset", "restriction", "strides")

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
        self._alloc: Allocation | None = alloc
        self._dtype = dtype
        self._shape = shape
        self.offset = offset
        self.strides = strides
        self.buffer = buffer
        self.limits = limits
        self.gather: Gather | None = None
        self.restriction: Region | None = None
        self.axes: tuple[frozenset[int], ...] = ()

    @property
    def alloc(self) -> Allocation:
        assert self._alloc is not None
        return self._alloc

    @property
    def shape(self) -> Shape:  # type: ignore[override]
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        return self._dtype

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
        alloc, offset, shape, strides = self.alloc, self.offset, self._shape, self.strides
        if where.box:
            cuts = [where.interval(d, len(shape), n) for d, n in enumerate(shape)]
            lows = [0 if c is None else c.low for c in cuts]
            shape = tuple(n if c is None else c.high - c.low for c, n in zip(cuts, shape, strict=True))
            offset += sum(low * stride for low, stride in zip(lows, strides, strict=True))
        else:
            lows = [0] * len(shape)
        for limit in self.limits:
            _check(limit, lows, shape, self.name)
        return np.ndarray(shape, self._dtype, buffer=raw_bytes(alloc.memory), offset=offset, strides=strides)

    def view_in(self, where: Region) -> View:
        """The operand of an instruction that executes in ``where``."""
        if self.gather is not None or (where.residual and self.limits):
            from .indirect import gathered

            return gathered(self, where)
        return View(self.alloc, self.cut(where))

    def skipping(self, mode: Any) -> Tile:
        """This access, where ``oob_mode.skip`` leaves out what is out of bounds."""
        if self.gather is None or mode != OobMode.skip:
            return self
        derived = self._derived(self.dtype, self.offset, self.shape, self.strides)
        derived.gather = replace(self.gather, skip=True)
        return derived

    # --- views ---

    def as_tile(self) -> Tile:
        return self

    def _derived(self, dtype: np.dtype[Any], offset: int, shape: Shape, strides: Shape) -> Tile:
        derived = Tile(self.alloc, dtype, offset, shape, strides, self.buffer)
        derived.restriction = self.restriction
        return derived

    def _settled(self) -> Tile:
        """This view with its bounds checked (a view of it could not be cut any more)."""
        if self.gather is not None:
            raise NotModelled("a view of an indirect access")
        if self.limits:
            self.cut(EVERYWHERE)
        return self

    def reshape(self, *shape: Any) -> Tile:
        """The same elements in another shape, without a copy."""
        wanted = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else tuple(shape)
        array = self._settled().array
        try:
            reshaped = array.reshape([int(n) for n in wanted])
        except ValueError:
            raise KernelError("", f"cannot reshape {self!r} to {wanted}") from None
        if reshaped.size and not np.may_share_memory(reshaped, array):
            raise KernelError("", f"reshaping {self!r} to {wanted} would need a copy")
        if self.space != "hbm" and reshaped.shape[0] != array.shape[0] and array.shape[0] > 1:
            raise KernelError("", f"reshaping {self!r} to {wanted} would change its partition dimension")
        return self._derived(self.dtype, self.offset, reshaped.shape, reshaped.strides)

    def broadcast_to(self, shape: Any) -> Tile:
        """The same elements repeated by strides of 0, as numpy's ``broadcast_to``."""
        array = self._settled().array
        try:
            repeated = np.broadcast_to(array, tuple(int(n) for n in shape))
        except ValueError:
            raise KernelError("", f"cannot broadcast {self!r} to {tuple(shape)}") from None
        return self._derived(self.dtype, self.offset, repeated.shape, repeated.strides)

    def expand_dims(self, axis: int) -> Tile:
        """The same elements with a dimension of extent 1 at ``axis``."""
        self._settled()
        at = axis if axis >= 0 else self.ndim + 1 + axis
        strides = (*self.strides[:at], 0, *self.strides[at:])
        return self._derived(self.dtype, self.offset, (*self.shape[:at], 1, *self.shape[at:]), strides)

    def view(self, dtype: Any) -> Tile:
        """The same bytes read as ``dtype``; the last dimension grows or shrinks with the item size."""
        wanted = dtype_of(dtype)
        self._settled()
        old, new = self.dtype.itemsize, wanted.itemsize
        if old == new:
            return self._derived(wanted, self.offset, self.shape, self.strides)
        nbytes = self.shape[-1] * old
        if self.strides[-1] != old or nbytes % new:
            raise KernelError("", f"cannot view {self!r} as {wanted}")
        shape, strides = (*self.shape[:-1], nbytes // new), (*self.strides[:-1], new)
        if any(stride % new for stride in strides[:-1]) and self.space == "hbm":
            raise KernelError("", f"cannot view {self!r} as {wanted}")
        return self._derived(wanted, self.offset, shape, strides)

    def astype(self, dtype: Any) -> Tile:
        """A copy of the tile in ``dtype``."""
        from .movement import copy

        result: Tile = copy(self, dtype=dtype)
        return result

    # --- subscripts ---

    def __getitem__(self, key: Any) -> Tile:
        from .subscript import subscripted

        return subscripted(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        from .assignment import assign

        assign(self if key is Ellipsis else self[key], value)


def restricted(tile: Tile, mask: Any) -> Tile:
    """``tile[mask]``: an operand of which only the elements under ``mask`` take part."""
    derived = Tile(tile.alloc, tile.dtype, tile.offset, tile.shape, tile.strides, tile.buffer, tile.limits)
    derived.gather = tile.gather
    derived.axes = tile.axes
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


def raw_bytes(memory: Array) -> Array:
    """The bytes of a memory."""
    return memory if memory.dtype == np.uint8 else memory.reshape(-1).view(np.uint8)


class BlockTensor(Tensor):
    """Logical tiles with block indices: ``shape`` is ``(*blocks, partitions, *free)``.

    ``index`` are the block indices given so far, when this is a part of a larger tensor.
    """

    __slots__ = ("_tiles", "blocks", "buffer", "dtype", "index", "shape")

    def __init__(self, tiles: BlockTiles, blocks: Shape, index: Shape = ()) -> None:
        self._tiles = tiles
        self.blocks = blocks
        self.index = index
        self.shape = (*blocks, ParDim(tiles.shape[0]), *tiles.shape[1:])
        self.dtype = tiles.dtype
        self.buffer = tiles.buffer

    @property
    def name(self) -> str:
        return self._tiles.name

    def __repr__(self) -> str:
        return f"{self.dtype} {self.name}[{', '.join(map(str, self.shape))}] in {self.buffer.space}"

    def as_tile(self) -> Tile:
        raise KernelError(
            "err_failed_to_infer_tile_from_local_tensor", f"Failed to infer tile from tensor '{self.name}'"
        )

    def __getitem__(self, key: Any) -> Any:
        keys = key if isinstance(key, tuple) else (key,)
        if keys and keys[0] is Ellipsis and len(keys) == 1:
            return self
        taken: list[int] = []
        for k in keys[: len(self.blocks)]:
            taken.append(self._block_index(k, len(taken)))
        index = (*self.index, *taken)
        if len(taken) < len(self.blocks):
            return BlockTensor(self._tiles, self.blocks[len(taken) :], index)
        tile = self._tiles.at(index)
        rest = keys[len(taken) :]
        return tile[rest] if rest else tile

    def _block_index(self, k: Any, dimension: int) -> int:
        if isinstance(k, Tensor):
            raise NotModelled("a runtime value as a block index")
        if isinstance(k, Index) and prod(k.extents) == 1:
            k = k.const
        if isinstance(k, (slice, Index, Mask)) or k is Ellipsis or k is None:
            raise NotModelled("a slice or a vector across a block dimension")
        position, size = int(k), self.blocks[dimension]
        if not 0 <= position < size:
            raise KernelError(
                "err_tensor_access_out_of_bound",
                f"Out-of-bound access for tensor `{self.name}` on dimension {len(self.index) + dimension}: index range "
                f"[{position}, {position}] exceed dimension size of {size}",
            )
        return position

    def __setitem__(self, key: Any, value: Any) -> None:
        from .assignment import assign

        assign(self[key], value)

    def view(self, dtype: Any) -> BlockTensor:
        """Every logical tile read as ``dtype``."""
        return BlockTensor(self._tiles.viewed(dtype_of(dtype)), self.blocks, self.index)

    def reshape(self, *shape: Any) -> Any:
        raise NotModelled("reshape of a tensor with block dimensions")

    def broadcast_to(self, shape: Any) -> Any:
        self.as_tile()


class BlockTiles:
    """The logical tiles of a block tensor, made when they are first used (``make`` is given the block index)."""

    def __init__(self, name: str, shape: Shape, dtype: np.dtype[Any], buffer: Buffer, make: Any) -> None:
        self.name = name
        self.shape = shape
        self.dtype = dtype
        self.buffer = buffer
        self._make = make
        self._made: dict[Shape, Tile] = {}

    def at(self, index: Shape) -> Tile:
        if index not in self._made:
            self._made[index] = self._make(index)
        return self._made[index]

    def viewed(self, dtype: np.dtype[Any]) -> BlockTiles:
        shape = (*self.shape[:-1], self.shape[-1] * self.dtype.itemsize // dtype.itemsize)
        return BlockTiles(self.name, shape, dtype, self.buffer, lambda index: self.at(index).view(dtype))


def whole(alloc: Allocation, buffer: Buffer = PRIVATE_HBM) -> Tile:
    """The tile that is all of ``alloc``."""
    if alloc.space == "hbm":
        array = alloc.memory
        return Tile(alloc, array.dtype, 0, array.shape, array.strides, buffer)
    pitch = alloc.memory.strides[0]
    strides = (pitch, *row_major_strides(alloc.shape[1:], alloc.dtype.itemsize))
    return Tile(alloc, alloc.dtype, alloc.origin[0] * pitch + alloc.origin[1], alloc.shape, strides, buffer)


def split_shape(shape: Any, on_chip: bool) -> tuple[Shape, Shape]:
    """Block dimensions and tile dimensions of a shape as a kernel writes it (``par_dim`` marks the partitions)."""
    items = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    at = next((d for d, n in enumerate(items) if isinstance(n, ParDim)), 0) if on_chip else 0
    sizes = tuple(int(n) for n in items)
    return sizes[:at], sizes[at:]


__all__ = [
    "BlockTensor",
    "BlockTiles",
    "Limit",
    "Tensor",
    "Tile",
    "both",
    "broadcast",
    "restricted",
    "split_shape",
    "whole",
]
