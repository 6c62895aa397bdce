"""Memory is bytes at addresses.

SBUF is ``uint8[128, partition_bytes]``, PSUM is ``uint8[128, 16384]`` (8 banks of 2048 bytes), an HBM tensor is an
array of its own. A tensor is a *view*: a strided numpy array that lies on those bytes. A tile pinned to an address
aliases whatever else lives there; a tile without an address gets storage of its own.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .mapped import LARGE, repeated

Array = npt.NDArray[Any]
POISON = 0xFF
"""Every byte of memory that was never written: a NaN in each floating point type."""
_NO_MEMORY: Array = np.zeros((0, 0), np.uint8)


class Declaration(NamedTuple):
    """What a kernel says of a tile (or HBM tensor). What one place declares again and again may be one object.

    ``partitions`` and ``nbytes`` (per partition) are the extent, ``place`` is the file and line. ``numbered``: is the
    name that of the instruction, which the number of the tile follows?
    """

    space: str
    name: str
    block: tuple[int, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    partitions: int
    nbytes: int
    place: tuple[str, int]
    numbered: bool = False


class Allocation:
    """One logical tile (or HBM tensor): what was declared, and where it lies.

    ``whole`` is the tile as an array: the HBM tensor itself, ``None`` where the tile lies at an address or has no
    elements.
    ``partition`` and ``byte`` are physical and ``None`` where the compiler chooses; PSUM bytes count from bank 0.
    ``origin`` is the (row, byte) of the tile in ``memory``. ``kind`` is the kind of HBM that a kernel declares a tensor
    in, ``"shared_hbm"`` or ``"private_hbm"``. ``output`` is the position of an HBM tensor among those
    that the kernel returns, ``scope`` the loops that it was declared in, outermost first.
    ``lent`` is the array of the caller's that an input is, ``None`` where the memory is the launch's own.
    ``opened`` says that the whole tile belongs to an accumulation group, as long as ``accumulated`` is ``None``.

    What few allocations have another value of than the default stays in the class until it is set.
    """

    uid: int
    space: str
    declaration: Declaration
    whole: Array | None
    partition: int | None = None
    byte: int | None = None
    origin: tuple[int, int] = (0, 0)
    role: str = ""
    kind: str = ""
    output: int | None = None
    scope: tuple[object, ...] = ()
    opened: bool = False
    accumulated: Array | None = None
    last_flags: tuple[Array, Array] | None = None
    lent: Lent | None = None
    _memory: Array | None = None
    _start: int | None = None

    @property
    def name(self) -> str:
        declaration = self.declaration
        return f"{declaration.name}_{self.uid}" if declaration.numbered else declaration.name

    @property
    def block(self) -> tuple[int, ...]:
        return self.declaration.block

    @property
    def shape(self) -> tuple[int, ...]:
        return self.declaration.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.declaration.dtype

    @property
    def partitions(self) -> int:
        return self.declaration.partitions

    @property
    def nbytes(self) -> int:
        """Bytes a partition; of an HBM tensor all of them."""
        return self.declaration.nbytes

    @property
    def file(self) -> str:
        return self.declaration.place[0]

    @property
    def line(self) -> int:
        return self.declaration.place[1]

    @property
    def pinned(self) -> bool:
        return self.byte is not None

    @property
    def memory(self) -> Array:
        """The ``uint8`` array that backs the tile, for HBM the tensor itself. (Most are never asked for it.)"""
        if self._memory is None:
            if self.whole is None:
                return _NO_MEMORY
            on_chip = self.space != "hbm"
            self._memory = self.whole.view(np.uint8).reshape(self.partitions, self.nbytes) if on_chip else self.whole
        return self._memory

    @property
    def pitch(self) -> int:
        """Bytes from one partition of ``memory`` to the next."""
        return (self.memory.strides[0] if self.whole is None else 0) or self.nbytes or 1

    @property
    def base(self) -> Array:
        """``memory`` as an array of whatever type and shape: what views are made on."""
        return self.memory if self.whole is None else self.whole

    @property
    def bytes(self) -> Array:
        """``memory`` as bytes."""
        return self.memory.reshape(-1).view(np.uint8) if self.space == "hbm" else self.memory

    @property
    def start(self) -> int:
        """Address of the first byte of ``memory`` in the emulator's own process."""
        if self._start is None:
            self._start = address_of(self.base)
        return self._start

    def array(self) -> Array:
        """The whole tile as a strided array on the bytes of its memory, of ``shape`` and ``dtype``."""
        if self.whole is not None:
            return self.whole
        pitch = self.pitch
        strides = (pitch, *row_major_strides(self.shape[1:], self.dtype.itemsize))
        offset = self.origin[0] * pitch + self.origin[1]
        array: Array = np.ndarray(self.shape, self.dtype, buffer=self.memory, offset=offset, strides=strides)
        return array

    def in_one_group(self, view: Array) -> bool | None:
        """Does an accumulation group have all of the tile (or none)? ``None`` where the elements may differ.

        ``view`` is what an instruction writes: less than the whole tile is asked element by element.
        """
        return self.opened if self.accumulated is None and self._covered_by(view) else None

    def _covered_by(self, view: Array) -> bool:
        """Is ``view`` all of the tile, each element once, in whatever order?"""
        whole = self.whole
        if whole is not None and view.nbytes == whole.nbytes and view.flags.c_contiguous:
            return True
        if view.nbytes != self.partitions * self.nbytes:
            return False
        pitch, step = self.pitch, view.itemsize
        for stride, extent in sorted(zip(view.strides, view.shape, strict=True)):
            if extent != 1:
                step = pitch if step == self.nbytes else step
                if stride != step:
                    return False
                step *= extent
        return True

    def set_group(self, view: Array, opened: bool, where: Array | None = None) -> None:
        """Say of the elements of ``view`` (``where`` restricts them) whether an accumulation group has them."""
        if self.accumulated is None and self.opened is opened:
            return
        if where is None and self._covered_by(view):
            self.opened, self.accumulated, self.last_flags = opened, None, None
            return
        flags = self.group_flags(view)
        if where is None:
            flags[...] = opened
        else:
            flags[np.broadcast_to(where, flags.shape)] = opened

    def group_flags(self, view: Array) -> Array:
        """Booleans, one an element of ``view``: has a matmul of this tile's accumulation group written it?"""
        if self.last_flags is not None and self.last_flags[0] is view:
            return self.last_flags[1]
        if self.accumulated is None:
            size = (self.partitions, self.nbytes)
            self.accumulated = np.ones(size, np.bool_) if self.opened else np.zeros(size, np.bool_)
        pitch = self.pitch
        offset = address_of(view) - self.start - self.origin[0] * pitch - self.origin[1]
        row, column = divmod(offset, pitch)
        strides = tuple((s // pitch) * self.nbytes + s % pitch for s in view.strides)
        start = row * self.nbytes + column
        flags: Array = np.ndarray(view.shape, np.bool_, buffer=self.accumulated, offset=start, strides=strides)
        self.last_flags = (view, flags)
        return flags


def allocation_of(uid: int, space: str, declaration: Declaration, whole: Array | None) -> Allocation:
    made = Allocation()
    made.uid = uid
    made.space = space
    made.declaration = declaration
    made.whole = whole
    return made


class View:
    """A tensor as an instruction sees it: an array on the bytes of an allocation."""

    __slots__ = ("alloc", "array")
    alloc: Allocation
    array: Array

    @property
    def used(self) -> bool:
        """Does any of it take part in the instruction?"""
        return True

    @property
    def place(self) -> Array:
        """What an event records: the array itself, unless it was gathered from a larger one."""
        return self.array

    def reading(self, array: Array) -> View:
        """This operand, of which an instruction reads ``array``: its elements in another order, or again and again."""
        place = self.place
        return view_of(self.alloc, array) if place is self.array else Computed(self.alloc, array, place, used=self.used)


def view_of(alloc: Allocation, array: Array) -> View:
    """``array``, which lies on the bytes of ``alloc``, as an operand."""
    made = View()
    made.alloc = alloc
    made.array = array
    return made


class Kept:
    """What is left of the tensors of a launch: an output keeps its memory, which nothing else uses any more."""

    def __init__(self) -> None:
        self._arrays: dict[tuple[int, int, tuple[int, ...], tuple[int, ...]], Array] = {}
        self._taken: set[int] = set()

    def array(self, view: View) -> Array:
        """The values of ``view``; the same array for the same tensor, never the memory of an input or of another."""
        array, alloc = view.array, view.alloc
        key = (alloc.uid, address_of(array), array.shape, array.strides)
        if key not in self._arrays:
            own = alloc.role == "output" and alloc.uid not in self._taken and array.dtype == alloc.dtype
            whole = own and array.nbytes == alloc.nbytes and array.flags.c_contiguous
            self._taken.add(alloc.uid)
            self._arrays[key] = array if whole else array.copy()
        return self._arrays[key]


class Lent:
    """An array of the caller's that a kernel reads where it is: :attr:`tensor`, which cannot be written.

    Before an instruction writes to it, what is in it is kept, for the caller to have it back at the end.
    """

    def __init__(self, array: Array) -> None:
        self._array = array
        self._kept: Array | None = None
        self.tensor = array.view()
        self.tensor.flags.writeable = False

    def writable(self, view: Array) -> Array:
        """``view``, which lies on the tensor, to be written."""
        if self._kept is None:
            self._kept = self._array.copy()
        offset = address_of(view) - address_of(self._array)
        found: Array = np.ndarray(view.shape, view.dtype, buffer=self._array, offset=offset, strides=view.strides)
        return found

    def give_back(self) -> None:
        if self._kept is not None:
            self._array[...] = self._kept


class Computed(View):
    """An operand whose values are no view on memory: they were gathered from ``whole``, or a mask replaces some.

    ``used``: does any element take part?
    """

    __slots__ = ("_used", "whole")

    def __init__(self, alloc: Allocation, values: Array, whole: Array, *, used: bool = True) -> None:
        self.alloc = alloc
        self.array = values
        self.whole = whole
        self._used = used

    @property
    def used(self) -> bool:
        return self._used

    @property
    def place(self) -> Array:
        return self.whole


def address_of(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


@lru_cache(4096)
def row_major_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    strides = [itemsize] * len(shape)
    for d in range(len(shape) - 2, -1, -1):
        strides[d] = strides[d + 1] * shape[d + 1]
    return tuple(strides)


def poisoned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An array that was never written: every byte is :data:`POISON`."""
    example = poison(shape, dtype)
    return _filled(shape, dtype) if example is None else example.copy()


@lru_cache(4096)
def poison(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array | None:
    """What :func:`poisoned` copies, which is cheaper than to fill an array; ``None`` for what is large."""
    return _filled(shape, dtype) if prod(shape) * dtype.itemsize <= SMALL else None


def unwritten(rows: int, columns: int) -> Array:
    """The bytes of a memory that a kernel uses a small part of."""
    mapped = repeated(POISON, rows * columns)
    return np.full((rows, columns), POISON, np.uint8) if mapped is None else mapped.reshape(rows, columns)


def _filled(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    size = prod(shape) * dtype.itemsize
    mapped = repeated(POISON, size) if size >= LARGE else None
    if mapped is not None:
        return mapped.view(dtype).reshape(shape)
    raw = np.empty(size, np.uint8)
    raw.fill(POISON)
    return raw.view(dtype).reshape(shape)


SMALL = 4096
"""Bytes up to which it is cheaper to copy an array than to fill one."""
