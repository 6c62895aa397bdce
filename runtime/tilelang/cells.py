"""The elements of buffers while a kernel runs: read, written, and recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import KernelError, NotModelled
from ..events import Event, Operand
from .ir import Buffer, Kernel, Load, Region
from .reducers import Reducer
from .types import numpy_type
from .values import Values

Array = npt.NDArray[Any]


class Cells:
    """The memory of one block, and the record of what touched it."""

    def __init__(self, kernel: Kernel, addresses: Mapping[int, int]) -> None:
        self._kernel, self._addresses = kernel, addresses
        self._env: dict[int, Any] = {}
        self._memory: dict[int, Array] = {}
        self._written: set[int] = set()
        self._reducers: dict[int, Reducer] = {}
        self._phases: dict[tuple[int, int], tuple[int, int]] = {}
        self._mask: Any = True
        self._lanes: tuple[int, ...] = ()
        self._place = ("", 0)
        self._sequence = 0
        self.events: list[Event] = []
        self._values = Values(self._env, self._read)

    def _size(self, size: Any) -> int:
        return int(self._values.of(size))

    @property
    def written(self) -> set[int]:
        """The ids of the buffers that something wrote to."""
        return self._written

    def array(self, buffer: Buffer) -> Array:
        """The elements of a buffer, or of what it is a view of."""
        if buffer.alias is None:
            return self._memory[id(buffer)]
        shape = tuple(self._size(size) for size in buffer.shape)
        base = self.array(buffer.alias)
        if prod(shape) * numpy_type(buffer.dtype).itemsize != base.nbytes:
            raise KernelError("", f"a view of '{buffer.alias.name}' with another size: {shape} {buffer.dtype}")
        return base.reshape(-1).view(numpy_type(buffer.dtype)).reshape(shape)

    def _uniform(self, extent: Any) -> int:
        found = np.asarray(self._values.of(extent))
        if found.ndim:
            raise NotModelled("a loop whose length differs from iteration to iteration of T.Parallel")
        return int(found)

    def _read(self, buffer: Buffer, indices: tuple[Any, ...], active: Any) -> Array:
        if buffer.root.reducer:
            self._reducer(buffer).read()
            buffer = self._result_of(buffer)
        array = self.array(buffer)
        inside, clipped = self._inside(buffer, array, indices, active)
        found = array[clipped]
        if np.all(inside):
            return found  # type: ignore[no-any-return]  # an array, of Any
        return np.where(inside, found, np.zeros((), array.dtype))

    def _inside(
        self, buffer: Buffer, array: Array, indices: tuple[Any, ...], active: Any
    ) -> tuple[Any, tuple[Any, ...]]:
        """Which lanes are in bounds, and indices that are. Outside of global memory all active ones must be."""
        inside: Any = True
        clipped = []
        for axis, (index, size) in enumerate(zip(indices, array.shape, strict=True)):
            number = np.asarray(index)
            fits = (number >= 0) & (number < size)
            if buffer.scope != "global" and not np.all(fits | ~np.asarray(active)):
                wrong = np.broadcast_to(number, np.broadcast_shapes(number.shape, np.shape(active)))
                bad = wrong[~np.broadcast_to(fits | ~np.asarray(active), wrong.shape)]
                raise KernelError(
                    "", f"'{buffer.name}' has {size} elements on axis {axis}, and index {bad.flat[0]} is used"
                )
            inside = inside & fits
            clipped.append(np.clip(number, 0, size - 1))
        return inside, tuple(clipped)

    def _box(self, operand: Any, extents: Sequence[int] = ()) -> tuple[Buffer, Array, list[int], list[int]]:
        """The buffer, its elements, and the first index and extent of each axis of what an operand stands for."""
        if isinstance(operand, Buffer):
            array = self.array(operand)
            return operand, array, [0] * array.ndim, list(array.shape)
        array = self.array(operand.buffer)
        if isinstance(operand, Region):
            starts = [self._uniform(each) for each in operand.starts]
            return operand.buffer, array, starts, [self._uniform(each) for each in operand.extents]
        starts = [self._uniform(each) for each in operand.indices]
        sizes = [1] * max(array.ndim - len(extents), 0) + list(extents)[-array.ndim :]
        return operand.buffer, array, starts, sizes

    def _boxes(self, first: Any, second: Any) -> tuple[Any, Any]:
        """Two operands of one extent; an element stands for a box that begins there."""
        if isinstance(first, Load) and isinstance(second, Load):
            raise NotModelled("a copy between two elements")
        if isinstance(first, Load):
            other = self._box(second)
            return self._box(first, _without_ones(other[3], first.buffer)), other
        box = self._box(first)
        return box, (
            self._box(second, _without_ones(box[3], second.buffer)) if isinstance(second, Load) else self._box(second)
        )

    def _gather(self, buffer: Buffer, array: Array, starts: list[int], sizes: list[int]) -> Array:
        """A box as an array. What lies outside of global memory's bounds is 0."""
        inner, outer = self._bounds(buffer, array, starts, sizes)
        found = np.zeros(sizes, array.dtype)
        found[outer] = array[inner]
        return found

    def _scatter(self, buffer: Buffer, array: Array, starts: list[int], sizes: list[int], values: Array) -> None:
        inner, outer = self._bounds(buffer, array, starts, sizes)
        array[inner] = values[outer]
        self._written.add(id(buffer.root))

    def _bounds(self, buffer: Buffer, array: Array, starts: list[int], sizes: list[int]) -> tuple[Any, Any]:
        inner, outer = [], []
        for axis, (start, size, extent) in enumerate(zip(starts, sizes, array.shape, strict=True)):
            low, high = max(start, 0), min(start + size, extent)
            if (low != start or high != start + size) and buffer.scope != "global":
                message = (
                    f"'{buffer.name}' has {extent} elements on axis {axis}, and {start} to {start + size - 1} are used"
                )
                raise KernelError("", message)
            inner.append(slice(low, max(high, low)))
            outer.append(slice(low - start, max(high, low) - start))
        return tuple(inner), tuple(outer)

    def _event(self, name: str, first: list[Operand], rest: list[Operand], *attributes: tuple[str, Any]) -> None:
        self._sequence += 1
        operands = tuple(sorted(rest, key=repr))
        self.events.append(Event(self._sequence, name, (*first, *operands), tuple(attributes), *self._place))

    def _tile_event(self, name: str, boxes: Sequence[Any], *attributes: tuple[str, Any]) -> None:
        operands = []
        for role, buffer, array, starts, sizes in boxes:
            steps = tuple((0, stride, size) for stride, size in zip(array.strides, sizes, strict=True) if size != 1)
            at = sum(start * stride for start, stride in zip(starts, array.strides, strict=True))
            operands.append(self._operand(role, buffer, array, at, _merged(steps)))
        self._event(name, operands, [], *attributes)

    def _elements(self, role: str, buffer: Buffer, array: Array, places: tuple[Array, ...]) -> Operand:
        """The places of single elements as a box, where they are one."""
        size = array.dtype.itemsize
        flat = (
            np.unique(np.ravel_multi_index(places, array.shape)) if array.ndim and places[0].size else np.zeros(0, int)
        )
        if flat.size == 0:
            return self._operand(role, buffer, array, 0, (), used=False)
        gaps = np.unique(np.diff(flat)) if flat.size > 1 else np.ones(1, int)
        steps: tuple[tuple[int, int, int], ...] = (
            ((0, int(gaps[0]) * size, int(flat.size)),) if gaps.size == 1 and flat.size > 1 else ()
        )
        if gaps.size > 1:
            steps = (*((0, int(at) * size, 1) for at in flat[:64]), (0, int(flat.sum()), int(flat.size)))
        return self._operand(role, buffer, array, int(flat[0]) * size, steps)

    def _operand(self, role: str, buffer: Buffer, array: Array, at: int, steps: Any, *, used: bool = True) -> Operand:
        root = buffer.root
        if root.scope == "global":
            size = array.dtype.itemsize
            elements = tuple((0, stride // size, count) for _, stride, count in steps)
            return Operand(role, "hbm", root.uid, False, 0, at // size, elements, buffer.dtype, used=used)
        address = self._addresses.get(root.uid)
        space = "register" if root.scope.startswith("local") else root.scope
        return Operand(
            role, space, root.uid, address is not None, 0, at + (address or 0), steps, buffer.dtype, used=used
        )

    def _reads_of(self, expression: Any) -> list[Operand]:
        found = []
        for load in _loads(expression):
            buffer = load.buffer
            if buffer.root.reducer:
                buffer = self._result_of(buffer)
            array = self.array(buffer)
            indices = tuple(self._values.of(each, self._mask) for each in load.indices)
            _, clipped = self._inside(buffer, array, indices, self._mask)
            shape = np.broadcast_shapes(np.shape(self._mask), *(np.shape(each) for each in clipped))
            chosen = np.broadcast_to(self._mask, shape)
            places = tuple(np.broadcast_to(each, shape)[chosen] for each in clipped)
            found.append(self._elements("src", buffer, array, places))
        return found

    def _reducer(self, buffer: Buffer) -> Reducer:
        key = id(buffer.root)
        if key not in self._reducers:
            self._reducers[key] = Reducer(buffer.root, self.array(buffer.root))
            self._reducers[key].result.uid = result_uid(self._kernel, buffer.root.uid)
        return self._reducers[key]

    def _result_of(self, buffer: Buffer) -> Buffer:
        return self._reducer(buffer).result


def result_uid(kernel: Kernel, uid: int) -> int:
    """The number of the hidden result of the reducer ``uid`` of the old kind."""
    return len(kernel.buffers) + uid


def _loads(expression: Any) -> list[Load]:
    if isinstance(expression, Load):
        return [expression, *(each for index in expression.indices for each in _loads(index))]
    if isinstance(expression, Buffer) or not hasattr(expression, "args"):
        return []
    return [each for arg in expression.args for each in _loads(arg)]


def _without_ones(sizes: list[int], buffer: Buffer) -> list[int]:
    """The extents of a box in as many axes as ``buffer`` has."""
    while len(sizes) > len(buffer.shape) and 1 in sizes:
        sizes = list(sizes)
        sizes.remove(1)
    return sizes


def _merged(steps: tuple[tuple[int, int, int], ...]) -> tuple[tuple[int, int, int], ...]:
    found: list[tuple[int, int, int]] = []
    for step in steps:
        if found and found[-1][1] == step[1] * step[2]:
            found[-1] = (0, step[1], found[-1][2] * step[2])
        else:
            found.append(step)
    return tuple(found)
