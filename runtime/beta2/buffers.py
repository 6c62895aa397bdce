"""The memories a tensor can be declared in, and pointers into them."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from .. import session
from ..errors import KernelError, NotModelled
from ..memory import Allocation, View
from ..spec.hardware import PARTITIONS, PSUM_PARTITION_BYTES
from . import state, values

_POINTER_SBUF_BYTES = 0x30000
"""Bytes a partition of the ``sbuf`` pointer, whatever the target has."""


@dataclass(frozen=True)
class Pointer:
    """A region of SBUF or PSUM: ``start`` (partition, byte) or ``None``s where the compiler chooses, ``size``
    likewise."""

    space: str
    start: tuple[int | None, int | None]
    size: tuple[int, int]
    name: str

    def __getitem__(self, index: object) -> Pointer:
        if not isinstance(index, tuple) or len(index) != 2:
            raise KernelError("", "pointers require two indexes")
        if any(self.start):
            raise NotModelled("a slice of a pointer that does not start at 0")
        partition, partitions = _partitions(index[0], self.size[0])
        byte, nbytes = _bytes(index[1], self.size[1])
        return Pointer(self.space, (partition, byte), (partitions, nbytes), self.name)

    def ptr(self, size: object, offset: object = None, name: str | None = None) -> Pointer:
        """A region of ``size`` (partitions, bytes) at ``offset``, or wherever the compiler puts it."""
        partitions, nbytes = values.naturals(size)
        if offset is None:
            return Pointer(self.space, (None, None), (partitions, nbytes), name or self.name)
        partition, byte = values.naturals(offset)
        return Pointer(self.space, (partition, byte), (partitions, nbytes), name or self.name)

    def view(self, dtype: object, shape: object, name: str | None = None, address_rotation: bool | None = None) -> View:
        """A tensor of ``dtype`` and ``shape`` that starts where the region starts."""
        new_type, new_shape = values.data_type(dtype), values.shape_of(shape)
        if new_shape[0] > self.size[0]:
            raise KernelError("", "partition size is too large for memory region")
        if prod(new_shape[1:]) * new_type.itemsize > self.size[1]:
            raise KernelError("", "shape is too large for memory region")
        address = None if self.start[0] is None or self.start[1] is None else (self.start[0], self.start[1])
        return state.current().declare(new_shape, new_type, BUFFERS[self.space], name, address)


def _partitions(index: object, limit: int) -> tuple[int, int]:
    if isinstance(index, slice):
        start, stop = index.start or 0, limit if index.stop is None else index.stop
        if index.step not in (None, 1):
            raise KernelError("", "pointer step size must be 1")
        if stop > limit:
            raise KernelError("", f"partition size {stop} is larger than the pointer size {limit}")
    else:
        start = values.integer(index)
        stop = start + 1
    if start not in (0, 32, 64, 96):
        raise KernelError("", "partition dimension must be 0, 32, 64, or 96")
    if start >= stop:
        raise KernelError("", f"partition start {start} is larger than partition end {stop}")
    return start, stop - start


def _bytes(index: object, limit: int) -> tuple[int, int]:
    if isinstance(index, slice):
        start, stop = index.start or 0, limit if index.stop is None else index.stop
        if index.step not in (None, 1):
            raise KernelError("", "pointer step size must be 1")
        if start % 2:
            raise KernelError("", f"free dimension start {start} must be even")
    else:
        start = stop = values.integer(index)
    if stop % 2:
        raise KernelError("", f"free dimension {stop} must be even")
    if stop > limit:
        raise KernelError("", f"free dimension {stop} is larger than pointer size {limit}")
    if not isinstance(index, slice):
        return start, 1
    if start >= stop:
        raise KernelError("", f"free start {start} is larger than free end {stop}")
    return start, stop - start


@dataclass(frozen=True)
class Buffer:
    """``nl.sbuf``, ``nl.psum``, ``nl.hbm``, ``nl.shared_hbm`` or ``nl.private_hbm``. The first two are pointers as
    well."""

    name: str
    space: str = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "space", "hbm" if self.name.endswith("hbm") else self.name)

    def __repr__(self) -> str:
        return f"nki.language.{self.name}"

    def _pointer(self) -> Pointer:
        if self.space == "hbm":
            raise NotModelled(f"a region of {self!r}")
        size = PSUM_PARTITION_BYTES if self.name == "psum" else _POINTER_SBUF_BYTES
        return Pointer(self.name, (0, 0), (PARTITIONS, size), self.name)

    def __getitem__(self, index: object) -> Pointer:
        return self._pointer()[index]

    def ptr(self, size: object, offset: object = None, name: str | None = None) -> Pointer:
        return self._pointer().ptr(size, offset, name)

    def view(self, dtype: object, shape: object, name: str | None = None, address_rotation: bool | None = None) -> View:
        """A tensor of ``dtype`` and ``shape`` somewhere in this memory."""
        new_shape = values.shape_of(shape)
        if self.space == "hbm":
            return state.current().declare(new_shape, values.data_type(dtype), self, name, None)
        nbytes = prod(new_shape[1:]) * values.data_type(dtype).itemsize
        return self._pointer().ptr((new_shape[0], nbytes)).view(dtype, shape, name, address_rotation)


BUFFERS = {name: Buffer(name) for name in ("sbuf", "psum", "hbm", "shared_hbm", "private_hbm")}


def buffer(value: object) -> Buffer:
    """The buffer that an argument names."""
    if isinstance(value, Buffer):
        return value
    if isinstance(value, Pointer):
        return BUFFERS[value.space]
    if isinstance(value, str) and value in BUFFERS and state.rules().loose_values:
        return BUFFERS[value]
    raise KernelError("", f"expecting buffer type, got {values.kind(value)}")


def buffer_of(alloc: Allocation) -> Buffer:
    """What ``tensor.buffer`` says: ``shared_hbm`` is a spelling of ``hbm``."""
    if alloc.space == "hbm":
        return BUFFERS["private_hbm" if alloc.role == "scratch" else "hbm"]
    return BUFFERS[alloc.space]


def machine_bytes() -> int:
    """SBUF bytes a partition that kernels may use on the machine that runs now."""
    return session.current().machine.target.sbuf_bytes
