"""Declaring tensors: ``nl.ndarray``, and constants in HBM."""

from __future__ import annotations

import itertools
import sys
from dataclasses import dataclass, field
from math import prod
from types import CodeType, FrameType
from typing import Any

import numpy as np

from .. import sites
from ..abridging import makes_all_blocks
from ..errors import KernelError, location_of, shown, user_frame
from ..memory import Allocation, Array, poisoned
from ..naming import declared_name, is_fixed
from ..numerics import convert
from ..positions import COMPREHENSION_CODES
from ..spec.comparison import HBM_KINDS
from .base import Shape, Tensor
from .blocks import BlockTensor, BlockTiles, split_shape
from .state import Loop, State, state
from .tensor import Tile, tile_of, whole
from .tokens import PRIVATE_HBM, SBUF, SHARED_HBM, Address, Buffer, dtype_of


def ndarray(shape: Any, dtype: Any, *, buffer: Any = None, name: str = "", **_: Any) -> Tensor:
    """Declare a tensor with undefined contents; ``buffer`` defaults to ``nl.sbuf``.

    ``shape`` is ``(*blocks, par_dim(P), *free)``; without ``par_dim`` the first dimension is the partition dimension.
    """
    return declared_in(sys._getframe(1), shape, dtype, buffer, name)


def empty_like(a: Any, dtype: Any = None, *, buffer: Any = None, name: str = "", **_: Any) -> Tensor:
    """Declare a tensor with the shape (and type) of ``a`` and undefined contents."""
    return declared_in(sys._getframe(1), a.shape, a.dtype if dtype is None else dtype, buffer, name)


def shared_constant(constant: Any, dtype: Any = None, **_: Any) -> Tile:
    """A numpy array as a constant in HBM, to be loaded; converted to ``dtype``."""
    current = state()
    array = np.asarray(constant)
    kind = dtype_of(array.dtype if dtype is None else dtype)
    stored = np.ascontiguousarray(convert(array, kind))
    frame = user_frame(sys._getframe(1))
    name, _block = _name(current, frame, "", "constant")
    alloc = current.machine.allocate_hbm(stored, name=name, role="constant", location=location_of(frame))
    current.immutable.add(alloc.uid)
    return whole(alloc, PRIVATE_HBM)


def shared_identity_matrix(n: int, dtype: Any = np.uint8, **_: Any) -> Tile:
    """The identity matrix of size ``n`` as a constant in HBM."""
    return shared_constant(np.identity(n), dtype)


def declared_in(frame: FrameType, shape: Any, dtype: Any, buffer: Any, name: str) -> Tensor:
    """The tensor that a kernel declares in ``frame``, or the emulator for it."""
    place = SBUF if buffer is None else buffer
    current = state()
    known = known_tiles(current, frame, shape, dtype, place)
    if known is not None:
        return _tensor(current, known)
    return _judged(current, user_frame(frame), shape, dtype_of(dtype), place, name)


@dataclass(eq=False)
class Tiles:
    """A declaration on chip: ``blocks`` of tiles of ``shape`` (one tile where that is empty).

    ``first`` is the block index of the first one, if there is any. ``made`` are those that have no address and were
    made before, by block index; ``filled`` is what one was filled with last.
    """

    name: str
    position: Shape
    blocks: Shape
    shape: Shape
    dtype: np.dtype[Any]
    buffer: Buffer
    location: tuple[str, int]
    made: dict[Shape, sites.Declared] = field(default_factory=dict)
    filled: tuple[int | float, Array] | None = None
    first: Shape | None = field(init=False)

    def __post_init__(self) -> None:
        self.first = None if 0 in self.blocks else (0,) * len(self.blocks)


@dataclass(frozen=True, eq=False, slots=True)
class _Site:
    """A place in a kernel's ``code`` that declared ``tiles`` without an address.

    ``shape`` is the argument, ``kinds`` the types of its items.
    """

    code: CodeType
    shape: tuple[int, ...]
    kinds: tuple[type, ...]
    tiles: Tiles


_SITES: dict[tuple[int, int], _Site] = {}
"""By ``id`` of the code, which is kept alive, and by the place."""


def known_tiles(current: State, frame: FrameType, shape: Any, dtype: Any, buffer: Any) -> Tiles | None:
    """What the place in the kernel declares with these arguments, where it has declared just this before."""
    site = _SITES.get((id(frame.f_code), frame.f_lasti))
    if site is None or type(shape) is not tuple or current.strict:
        return None
    tiles = site.tiles
    if tiles.dtype is not dtype or tiles.buffer is not buffer or site.kinds != tuple(map(type, shape)):
        return None
    return tiles if site.shape == shape else None


def _judged(current: State, frame: FrameType | None, shape: Any, dtype: np.dtype[Any], place: Any, name: str) -> Tensor:
    if not isinstance(place, Buffer):
        raise KernelError("", f"buffer must be one of nl.sbuf, nl.psum, nl.hbm or an allocation, got {shown(place)}")
    location = location_of(frame)
    named, position = _name(current, frame, name, "tile")
    if place.space == "hbm":
        return _in_hbm(current, tuple([int(n) for n in shape]), dtype, place, named, location)
    blocks, tile = split_shape(shape, on_chip=True)
    if blocks and current.strict:
        raise KernelError(
            "err_leading_dimension_of_tensor_must_be_partition",
            f"The leading dimension of SBUF/PSUM tensors must be the partition dimension: '{named}' has blocks first",
        )
    if len(tile) < 2:
        raise KernelError("", f"Insufficient rank: '{named}' has shape {tile}, a tile has at least two dimensions")
    declared = Tiles(named, position, blocks, tile, dtype, place, location)
    made = _tensor(current, declared)
    if place.address_of is None and frame is not None and type(shape) is tuple and is_fixed(frame):
        _SITES[id(frame.f_code), frame.f_lasti] = _Site(frame.f_code, shape, tuple(map(type, shape)), declared)
    return made


def _tensor(current: State, declared: Tiles) -> Tensor:
    """The tensor of a declaration. Tiles without an address are made when they are used, but for the first one.

    In an abridged run that is compared with another all are made.
    """
    blocks, first = declared.blocks, declared.first
    if not blocks:
        return logical_tile(current, declared, (), current.scope)
    tiles = _Blocks(current, declared)
    if (declared.buffer.address_of is not None and not current.options.force_auto_alloc) or makes_all_blocks():
        for index in itertools.product(*(range(n) for n in blocks)):
            tiles.at(index)
    elif first is not None:
        tiles.made[first] = logical_tile(current, declared, first, current.scope)
    return BlockTensor(tiles, blocks)


class _Blocks(BlockTiles):
    """The logical tiles of a tensor that is ``declared`` where the loops of ``scope`` run.

    ``value``: what a tile is filled with when it is made, if it is.
    """

    __slots__ = ("_current", "_declared", "_scope", "value")

    def __init__(self, current: State, declared: Tiles) -> None:
        self.made = {}
        self.value: Any = None
        self._current = current
        self._declared = declared
        self._scope = current.scope

    def _make(self, index: Shape) -> Tile:
        tile = logical_tile(self._current, self._declared, index, self._scope)
        if self.value is not None:
            tile[...] = self.value
        return tile

    def __getattr__(self, name: str) -> Any:
        """``name``, ``shape``, ``dtype`` and ``buffer``."""
        return getattr(self._declared, name)


def logical_tile(
    current: State, declared: Tiles, index: Shape, scope: tuple[Loop, ...], values: Array | None = None
) -> Tile:
    """The logical tile ``index`` of a declaration; ``values`` is memory that one which was made before may take."""
    known = declared.made.get(index)
    if known is not None and not current.simulated:
        memory = known.memory() if values is None else values
        alloc = current.machine.automatic(known.declaration, memory)
        alloc.scope = scope
        current.automatic.append(alloc.uid)
        return tile_of(alloc, memory.view(), declared.dtype, 0, declared.shape, declared.buffer)
    alloc = _allocated(current, declared, index)
    alloc.scope = scope
    if alloc.byte is None:
        current.automatic.append(alloc.uid)
    else:
        current.direct.append(alloc)
    made = whole(alloc, declared.buffer)
    made.dtype = declared.dtype
    return made


def _allocated(current: State, declared: Tiles, index: Shape) -> Allocation:
    """One logical tile of a declaration; its address from the buffer's function, unless allocation is automatic."""
    address: Address | None = None
    buffer, shape, dtype = declared.buffer, declared.shape, declared.dtype
    if buffer.address_of is None or current.options.force_auto_alloc:
        dtype = current.stored(dtype)
    else:
        address = buffer.address_of(index, shape[0], prod(shape[1:]) * dtype.itemsize)
    alloc = current.machine.allocate(
        buffer.space,
        shape,
        dtype,
        name=declared.name,
        block=(*declared.position, *index),
        address=address,
        location=declared.location,
    )
    if address is None and not current.simulated and 0 not in shape:
        declared.made[index] = sites.Declared.by(alloc.declaration)
    return alloc


def _in_hbm(
    current: State, shape: Shape, dtype: np.dtype[Any], buffer: Buffer, name: str, location: tuple[str, int]
) -> Tile:
    """A tensor in HBM. The programs of a launch see one and the same ``shared_hbm`` tensor."""
    machine = current.machine
    if buffer is SHARED_HBM:
        _check_kernel_level(current, name)
        order = current.shared_created
        current.shared_created += 1
        if order == len(current.shared):
            current.shared.append(poisoned(shape, dtype))
        array = current.shared[order]
        if (array.shape, array.dtype) != (shape, dtype):
            raise KernelError("", f"shared_hbm tensor '{name}' differs between the programs of the grid")
    else:
        array = poisoned(shape, dtype)
    alloc = machine.allocate_hbm(array, name=name, role="scratch", location=location)
    alloc.kind = HBM_KINDS["beta1"][buffer.name]
    current.hbm.append(alloc)
    return whole(alloc, buffer)


def _check_kernel_level(current: State, name: str) -> None:
    frame = user_frame(sys._getframe(1))
    while frame is not None and frame.f_code.co_name in COMPREHENSION_CODES:
        frame = frame.f_back
    elsewhere = frame is not None and frame.f_code not in current.codes
    inside = "a loop" if current.scope else "another function" if elsewhere else ""
    if inside:
        raise KernelError(
            "err_shared_hbm_must_in_kernel_level",
            f"shared_hbm buffer can only be created top level kernel scope: '{name}' is created inside {inside}",
        )


def _name(current: State, frame: FrameType | None, given: str, kind: str) -> tuple[str, Shape]:
    """The variable that the declaration is assigned to, else the name that the kernel gives, else a neutral one."""
    found = declared_name(frame) if frame is not None else None
    return found or (given or f"{kind}_{current.machine.declared}", ())
