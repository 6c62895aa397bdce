"""Access patterns: ``.ap`` on whole tensors, with offsets that are known when the kernel is compiled or only on chip.

Sources: ``reference/beta2.md`` sections 1.9 and 2.5; the examples of the migration guide.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..errors import KernelError, NotModelled
from ..memory import Array
from . import state, values
from .registers import Register, element
from .tensor import PATTERN, WHOLE, NkiTensor

Pattern = tuple[tuple[int, int], ...]
OUT_OF_BOUNDS = "access pattern leaves the tensor"


class OutOfBounds(KernelError):
    """A dynamic access leaves its tensor; ``oob_mode.skip`` turns it into no access."""


class Located(NkiTensor):
    """A dynamic access that was read: ``array`` is where it lies now, events record the tensor that was indexed."""

    __slots__ = ("indexed",)

    def __init__(self, base: NkiTensor, array: Array) -> None:
        super().__init__(base.alloc, array, form=PATTERN, label=base.label)
        self.indexed = base.array

    @property
    def place(self) -> Array:
        return self.indexed


class DynamicTensor(NkiTensor):
    """An access whose start depends on a register or on a tensor: read when an instruction uses the access."""

    __slots__ = ("base", "indirect_dim", "source", "start", "steps")

    def __init__(
        self, base: NkiTensor, steps: Pattern, start: int, source: NkiTensor | Register, indirect_dim: int, dtype: Any
    ) -> None:
        shape = tuple(count for _, count in steps)
        placeholder = np.lib.stride_tricks.as_strided(np.empty(1, dtype), shape, (0,) * len(shape))
        super().__init__(base.alloc, placeholder, form=PATTERN, label=base.label)
        self.base, self.steps, self.start, self.source, self.indirect_dim = base, steps, start, source, indirect_dim

    def scalar(self) -> int:
        """The value of the scalar offset now."""
        return self.source.content if isinstance(self.source, Register) else element(self.source)

    def resolved(self) -> NkiTensor:
        shift = self.scalar() * prod(self.base.array.shape[self.indirect_dim + 1 :])
        return Located(self.base, pattern_array(self.base, self.steps, self.start + shift, self.array.dtype))


class StrayTensor(NkiTensor):
    """An access that leaves its tensor: the front end writes it down like any other, an instruction must not use it."""

    __slots__ = ("problem",)

    def __init__(self, base: NkiTensor, steps: Pattern, dtype: Any, problem: KernelError) -> None:
        shape = tuple(count for _, count in steps)
        placeholder = np.lib.stride_tricks.as_strided(np.empty(1, dtype), shape, (0,) * len(shape))
        super().__init__(base.alloc, placeholder, form=PATTERN, label=base.label)
        self.problem = problem

    def resolved(self) -> NkiTensor:
        raise KernelError("", f"'{self.label}': {self.problem.text}")


class GatheredTensor(NkiTensor):
    """An access whose rows are chosen by a tensor of indices (``vector_offset``)."""

    __slots__ = ("base", "indices", "start", "steps")

    def __init__(self, base: NkiTensor, steps: Pattern, start: int, indices: NkiTensor) -> None:
        shape = tuple(count for _, count in steps)
        placeholder = np.lib.stride_tricks.as_strided(np.empty(1, base.dtype), shape, (0,) * len(shape))
        super().__init__(base.alloc, placeholder, form=PATTERN, label=base.label)
        self.base, self.steps, self.start, self.indices = base, steps, start, indices

    def resolved(self) -> NkiTensor:
        raise KernelError("", "an access with vector_offset= is only possible in nki.isa.dma_copy")

    def elements(self) -> tuple[Array, Array]:
        """Row-major element numbers of the access, and which rows lie inside the tensor.

        The rows outside count element 0.
        """
        row = prod(self.base.array.shape[1:])
        rows = self.indices.resolved().array.reshape(-1).astype(np.int64)[: self.steps[0][1]]
        numbers = self.start + rows.reshape(-1, *[1] * (len(self.steps) - 1)) * row
        for axis, (step, count) in enumerate(self.steps[1:], start=1):
            shape = [1] * len(self.steps)
            shape[axis] = count
            numbers = numbers + (np.arange(count) * step).reshape(shape)
        size = self.base.array.size
        flat = numbers.reshape(len(rows), -1)
        inside: Array = np.all((flat >= 0) & (flat < size), axis=1)
        return np.where(inside.reshape(-1, *[1] * (len(self.steps) - 1)), numbers, 0), inside


def access(
    tensor: NkiTensor,
    pattern: object,
    offset: object,
    scalar_offset: object,
    vector_offset: object,
    indirect_dim: object,
    dtype: object,
) -> NkiTensor:
    """``tensor.ap(...)``."""
    if tensor.form != WHOLE and state.rules().free_subscripts:
        raise NotModelled("an access pattern on a view (NKI 0.3)")
    if tensor.form != WHOLE:
        raise KernelError("", "cannot specify an access pattern on an already indexed tensor")
    steps, start, dim = values.pairs(pattern), values.natural(offset), values.integer(indirect_dim)
    if not steps:
        raise KernelError("", "an access pattern needs at least one [step, count] pair")
    kind = tensor.dtype if dtype is None else values.data_type(dtype)
    if scalar_offset is not None and vector_offset is not None:
        raise KernelError("", "an access pattern has a scalar_offset or a vector_offset, not both")
    if vector_offset is not None:
        return _gathered(tensor, steps, start, vector_offset, dim, kind)
    if scalar_offset is not None:
        if not isinstance(scalar_offset, (Register, NkiTensor)):
            raise KernelError("", f"scalar_offset requires scalar argument, got {values.kind(scalar_offset)}")
        if not 0 <= dim < tensor.array.ndim:
            raise KernelError("", f"indirect_dim {dim} is not a dimension of a tensor of shape {tensor.shape}")
        _check_partition_step(tensor, steps, kind)
        return DynamicTensor(tensor, steps, start, scalar_offset, dim, kind)
    _check_partition_step(tensor, steps, kind)
    try:
        return NkiTensor(tensor.alloc, pattern_array(tensor, steps, start, kind), form=PATTERN, label=tensor.label)
    except OutOfBounds as problem:
        return StrayTensor(tensor, steps, kind, problem)


def _gathered(
    tensor: NkiTensor, steps: Pattern, start: int, vector_offset: object, dim: int, kind: np.dtype[Any]
) -> NkiTensor:
    if dim != 0:
        raise KernelError("", "vector_offset supports indirect_dim=0 only")
    if not isinstance(vector_offset, NkiTensor):
        raise KernelError("", f"expecting tensor access, got '{values.kind(vector_offset)}'")
    if tensor.alloc.space != "hbm":
        raise KernelError("", "vector_offset is for tensors in HBM")
    if kind != tensor.dtype:
        raise KernelError("", "vector_offset cannot be combined with dtype=")
    if prod(vector_offset.shape) < steps[0][1]:
        raise KernelError(
            "", f"vector_offset has {prod(vector_offset.shape)} indices, the access pattern wants {steps[0][1]} rows"
        )
    return GatheredTensor(tensor, steps, start, vector_offset)


def _row_elements(tensor: NkiTensor, kind: np.dtype[Any]) -> int:
    """Elements of one partition of ``tensor``, in elements of ``kind``."""
    return prod(tensor.array.shape[1:]) * tensor.dtype.itemsize // kind.itemsize


def _check_partition_step(tensor: NkiTensor, steps: Pattern, kind: np.dtype[Any]) -> None:
    if tensor.alloc.space == "hbm":
        return
    row = _row_elements(tensor, kind)
    step, count = steps[0]
    if step != row and count != 1:
        raise KernelError(
            "",
            f"the first step of an access pattern on {tensor.alloc.space.upper()} walks partitions: it must be "
            f"{row}, the tensor's elements a partition, not {step}",
        )


def pattern_array(tensor: NkiTensor, steps: Pattern, start: int, kind: np.dtype[Any]) -> Array:
    """The strided array that a pattern with a known start selects; raises when it leaves the tensor."""
    counts = tuple([count for _, count in steps])
    if tensor.alloc.space == "hbm":
        total = tensor.array.size * tensor.dtype.itemsize // kind.itemsize
        _check_range(start, steps, total, "elements")
        size = kind.itemsize
        strides = tuple([step * size for step, _ in steps])
        part: Array = np.ndarray(counts, kind, buffer=tensor.alloc.bytes, offset=start * size, strides=strides)
        return part
    _check_partition_step(tensor, steps, kind)
    row = _row_elements(tensor, kind)
    partition, first = divmod(start, row) if row else (0, start)
    if partition < 0 or partition + steps[0][1] > tensor.array.shape[0]:
        raise OutOfBounds(
            "",
            f"{OUT_OF_BOUNDS}: partitions [{partition}, {partition + steps[0][1]}) of {tensor.array.shape[0]}",
        )
    _check_range(first, steps[1:], row, "elements of a partition")
    memory, origin = tensor.alloc.memory, tensor.alloc.origin
    pitch = memory.strides[0]
    position = (origin[0] + partition) * pitch + origin[1] + first * kind.itemsize
    strides = (pitch, *(step * kind.itemsize for step, _ in steps[1:]))
    tile: Array = np.ndarray(counts, kind, buffer=memory, offset=position, strides=strides)
    return tile


def _check_range(start: int, steps: Pattern, total: int, what: str) -> None:
    low = high = start
    for step, count in steps:
        if count == 0:
            return
        if step < 0:
            low += step * (count - 1)
        else:
            high += step * (count - 1)
    if low < 0 or high >= total:
        raise OutOfBounds("", f"{OUT_OF_BOUNDS}: {what} [{low}, {high}] of {total}")
