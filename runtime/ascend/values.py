"""What a kernel holds in its hands: buffers, parts of them, and elements that are numbers once something needs one."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import NotModelled
from .machine import Array, AscendError, Cell, Machine, current, dtype_of


class Symbolic:
    """``T.symbolic``: a size that the arguments of the launch tell."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.value: int | None = None

    def __index__(self) -> int:
        if self.value is None:
            raise NotModelled(f"arithmetic on the size '{self.name}' before the launch tells it")
        return self.value

    def __repr__(self) -> str:
        return self.name


class Buffer:
    """A buffer: a shape and a type on the bytes of a cell."""

    def __init__(self, cell: Cell, array: Array, machine: Machine | None, dtype: str) -> None:
        self.cell, self.array, self.machine, self.dtype = cell, array, machine, dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    @property
    def name(self) -> str:
        return self.cell.name

    def scope(self) -> str:
        return self.cell.space

    def usable(self) -> None:
        current().usable(self.cell)

    def __getitem__(self, index: Any) -> Region | Load:
        items = _items(index, self)
        if any(isinstance(item, slice) for item in items) or len(items) < self.array.ndim:
            return Region(self, self.array[items])
        return Load(self, items)  # type: ignore[arg-type]  # integers and slices

    def __setitem__(self, index: Any, value: Any) -> None:
        items = _items(index, self)
        if len(items) != self.array.ndim or any(isinstance(item, slice) for item in items):
            raise AscendError(f"'{self.name}' is stored to element by element: use T.copy or T.tile.* for a part of it")
        store(self, items, value)

    def __repr__(self) -> str:
        return f"<buffer {self.name} {self.shape} {self.dtype}>"


class Region:
    """A part of a buffer that slices name."""

    def __init__(self, buffer: Buffer, array: Array) -> None:
        self.buffer, self.array = buffer, array

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    @property
    def dtype(self) -> str:
        return self.buffer.dtype


def _items(index: Any, buffer: Buffer) -> tuple[int | slice, ...]:
    """An index as integers and slices, each in bounds."""
    items = index if isinstance(index, tuple) else (index,)
    if len(items) > buffer.array.ndim:
        raise AscendError(f"'{buffer.name}' has {buffer.array.ndim} dimensions, and {len(items)} indices")
    found: list[int | slice] = []
    for item, size in zip(items, buffer.array.shape, strict=False):
        if isinstance(item, slice):
            if item.step not in (None, 1):
                raise NotModelled("slices with a step")
            low = 0 if item.start is None else operator.index(item.start)
            high = size if item.stop is None else operator.index(item.stop)
            if not 0 <= low <= high <= size:
                raise AscendError(f"'{buffer.name}' has {size} elements in a dimension that is sliced {low}:{high}")
            found.append(slice(low, high))
        else:
            at = operator.index(item)
            if not 0 <= at < size:
                raise AscendError(f"'{buffer.name}' has {size} elements in a dimension that is indexed with {at}")
            found.append(at)
    return tuple(found)


def store(buffer: Buffer, items: tuple[int | slice, ...], value: Any) -> None:
    """``buffer[items] = value``, one element."""
    buffer.usable()
    number = number_of(value)
    target = buffer.array[items[:-1]][items[-1] : items[-1] + 1]  # type: ignore[operator]  # an integer
    target[...] = np.asarray(number).astype(buffer.array.dtype)
    current().record("store", [("dst", buffer.cell, target)])


class Load:
    """``buffer[i, j]``: where something begins, or the number that is there."""

    __slots__ = ("buffer", "items")

    def __init__(self, buffer: Buffer, items: tuple[int, ...]) -> None:
        self.buffer, self.items = buffer, items

    @property
    def element(self) -> Array:
        found: Array = self.buffer.array[self.items[:-1]][self.items[-1] : self.items[-1] + 1]
        return found

    @property
    def number(self) -> Any:
        self.buffer.usable()
        machine = current()
        machine.reads.append(("element", self.buffer.cell, self.element))
        value = self.element[0]
        kind = self.buffer.array.dtype
        return int(value) if kind.kind in "iu" else bool(value) if kind.kind == "b" else np.float32(value)

    @property
    def dtype(self) -> str:
        return self.buffer.dtype

    def assign(self, value: Any) -> None:
        """The seed's way to set an element."""
        store(self.buffer, self.items, value)

    def __index__(self) -> int:
        return operator.index(self.number)

    def __int__(self) -> int:
        return int(self.number)

    def __float__(self) -> float:
        return float(self.number)

    def __bool__(self) -> bool:
        return bool(self.number)

    def __hash__(self) -> int:
        return hash((id(self.buffer), self.items))


def _install() -> None:
    names = "add sub mul truediv floordiv mod lt le gt ge eq ne and_ or_ xor lshift rshift pow"
    for name in names.split():
        function = getattr(operator, name)
        method = f"__{name.rstrip('_')}__"
        setattr(Load, method, _binary(function, False))
        setattr(Symbolic, method, _binary(function, False))
        if name not in ("lt", "le", "gt", "ge", "eq", "ne"):
            setattr(Load, f"__r{method[2:]}", _binary(function, True))
            setattr(Symbolic, f"__r{method[2:]}", _binary(function, True))
        for sign in ("neg", "abs"):
            setattr(Load, f"__{sign}__", _unary(getattr(operator, sign)))
            setattr(Symbolic, f"__{sign}__", _unary(getattr(operator, sign)))
    Symbolic.__hash__ = object.__hash__  # type: ignore[method-assign]  # __eq__ makes an expression


def _binary(function: Callable[[Any, Any], Any], swapped: bool) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        mine, theirs = number_of(self), number_of(other)
        return function(theirs, mine) if swapped else function(mine, theirs)

    return method


def _unary(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda self: function(number_of(self))


def number_of(value: Any) -> Any:
    """The number that a value is: an element is read."""
    if isinstance(value, Load):
        return value.number
    if isinstance(value, Symbolic):
        return operator.index(value)
    if isinstance(value, (Buffer, Region)):
        raise AscendError(f"a buffer of {list(value.shape)} elements is no number: index it, or use T.tile.*")
    return value


_install()


def viewed(buffer: Buffer, shape: tuple[int, ...] | None, dtype: str | None) -> Buffer:
    """Another shape and type on the same bytes; an error where the sizes differ."""
    kind = dtype_of(dtype) if dtype is not None else buffer.array.dtype
    shape = buffer.shape if shape is None else shape
    size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    if size > buffer.array.nbytes:
        raise AscendError(f"a view of {size} bytes on '{buffer.name}', which has {buffer.array.nbytes}")
    flat = buffer.array.reshape(-1).view(np.uint8)[:size]
    return Buffer(buffer.cell, flat.view(kind).reshape(shape), buffer.machine, dtype or buffer.dtype)


def part_of(value: Any, what: str) -> tuple[Cell, Array]:
    """The cell and the elements of a buffer or a part of one."""
    if isinstance(value, Buffer):
        value.usable()
        return value.cell, value.array
    if isinstance(value, Region):
        value.buffer.usable()
        return value.buffer.cell, value.array
    if isinstance(value, Load):
        value.buffer.usable()
        return value.buffer.cell, value.element
    raise AscendError(f"{what} is a {type(value).__name__}, not a buffer")
