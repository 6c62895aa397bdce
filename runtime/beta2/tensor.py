"""Tensors of Beta 2: what they are, and how subscripts and ``.ap`` turn them into accesses.

Sources: ``reference/beta2.md`` sections 1.9, 2.4 and 2.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..errors import KernelError
from ..memory import Allocation, Array, View, address_of, row_major_strides
from . import state, values
from .buffers import Buffer, buffer_of

WHOLE, SLICED, NESTED, PATTERN = "whole", "sliced", "nested", "pattern"


class Address(tuple[int | None, int | None]):
    """A memory region: ``start`` is (partition, byte), both ``None`` where the compiler chooses; ``size`` likewise.

    It equals and prints as the pair ``start``.
    """

    size: tuple[int, int]
    name: str

    def __new__(cls, start: tuple[int | None, int | None], size: tuple[int, int], name: str) -> Address:
        address = super().__new__(cls, start)
        address.size, address.name = size, name
        return address

    @property
    def start(self) -> tuple[int | None, int | None]:
        return (self[0], self[1])


class NkiTensor(View):
    """A tensor, or an access to a part of one.

    ``array`` has every dimension of the access: an integer index leaves an extent of 1 that instructions see and
    ``shape`` does not (``dropped``). ``form`` is ``whole`` (declared, reshaped), ``sliced`` or ``nested`` (one or more
    subscripts), or ``pattern``. ``extents`` are those of the whole tensor.
    """

    __slots__ = ("_extents", "_label", "dropped", "form")

    kind_name = "access"

    def __init__(
        self,
        alloc: Allocation,
        array: Array,
        form: str = WHOLE,
        dropped: tuple[int, ...] = (),
        label: str = "",
        extents: tuple[int, ...] = (),
    ) -> None:
        self.alloc = alloc
        self.array = array
        self.form = form
        self.dropped = dropped
        self._label = label
        self._extents = extents

    @property
    def label(self) -> str:
        """The name by which errors call it."""
        return self._label or self.alloc.name

    @property
    def extents(self) -> tuple[int, ...]:
        return self._extents or self.array.shape

    @property
    def shape(self) -> tuple[int, ...]:
        if not self.dropped:
            return self.array.shape
        return tuple(n for d, n in enumerate(self.array.shape) if d not in self.dropped)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.array.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def buffer(self) -> Buffer:
        return buffer_of(self.alloc)

    @property
    def name(self) -> str:
        return self.label

    @property
    def address_name(self) -> str:
        return self.alloc.name

    @property
    def address(self) -> Address:
        if not state.rules().addresses:
            raise KernelError("", "tensors have no .address in NKI 0.3")
        alloc = self.alloc
        return Address((alloc.partition, alloc.byte), region_size(alloc), alloc.name)

    @property
    def offset(self) -> int:
        """First element of the access, counted in the row-major elements of the tensor."""
        return _element_offset(self)

    @property
    def pattern(self) -> tuple[tuple[int, int], ...]:
        """(step, count) of each dimension, in elements of the tensor."""
        steps = _element_steps(self)
        return tuple(zip(steps, self.array.shape, strict=True))

    def resolved(self) -> NkiTensor:
        """The access as it is now. (Accesses with a dynamic offset read it here.)"""
        return self

    def __getitem__(self, index: object) -> NkiTensor:
        """By Beta 2's rules: nothing is clipped, nothing is stepped, an integer drops its dimension."""
        parts = index if type(index) is tuple else tuple(index) if isinstance(index, (tuple, list)) else (index,)
        if self.form is WHOLE:
            array = self.array
            plain = _plain_cut(array.shape, parts)
            if plain is not None:
                cut, dropped = plain
                if 0 not in dropped or not state.rules().free_subscripts:
                    return NkiTensor(self.alloc, array[cut], SLICED, dropped, self._label, array.shape)
        return _subscript(self, parts)

    def __setitem__(self, index: object, value: object) -> None:
        raise KernelError("", "Updating a tile with lvalue assignment is not allowed")

    def __bool__(self) -> bool:
        """A tensor is true: ``if tensor:`` asks whether there is one, its values are not known to the compiler."""
        return True

    def __iter__(self) -> Any:
        raise KernelError("", "not an iterable object")

    def __len__(self) -> int:
        raise KernelError("", "tensors have no len(): use .shape")

    def __repr__(self) -> str:
        return f"{self.label}{list(self.shape)}:{self.dtype.name}@{self.buffer.name}"

    def ap(
        self,
        pattern: object,
        offset: object = 0,
        scalar_offset: object = None,
        vector_offset: object = None,
        indirect_dim: object = 0,
        dtype: object = None,
    ) -> NkiTensor:
        """The elements ``offset + sum(i_k * step_k)`` of the row-major tensor, as a tensor of shape ``counts``.

        ``pattern`` is ``[[step, count], ...]``, the partitions first; with ``dtype`` it and ``offset`` count
        elements of that type. ``scalar_offset`` (register or one-element tensor) adds its value times the extent
        of one step of dimension ``indirect_dim``; ``vector_offset`` (one index a row, dimension 0 only) replaces
        the rows.
        """
        from . import patterns

        return patterns.access(self, pattern, offset, scalar_offset, vector_offset, indirect_dim, dtype)

    def reshape(
        self, shape: object, dtype: object = None, name: str | None = None, address_rotation: bool | None = None
    ) -> NkiTensor:
        """The same memory with another shape (and ``dtype``); only for tensors that were not indexed."""
        if self.form != WHOLE:
            raise KernelError("", "cannot reshape a complex access pattern")
        new_type = self.dtype if dtype is None else values.data_type(dtype)
        new_shape = values.shape_of(shape)
        if self.alloc.space == "hbm":
            size, limit = prod(new_shape) * new_type.itemsize, self.alloc.nbytes
            if size > limit:
                raise KernelError(
                    "", f"shape has size {size} (bytes), which is too large for buffer of size {limit} (bytes)"
                )
        elif not fits(self.alloc, new_shape, new_type):
            raise KernelError("", "Tensor does not fit within memory location")
        return NkiTensor(self.alloc, on_region(self.alloc, new_shape, new_type), label=_claimed(name) or self.label)

    def view(
        self, dtype: object, shape: object = None, name: str | None = None, address_rotation: bool | None = None
    ) -> NkiTensor:
        """A tensor of ``dtype`` and ``shape`` at the address of this one (2.28).

        From 0.3 on there is no ``shape``: the bytes of the last dimension are read as elements of ``dtype``.
        """
        new_type = values.data_type(dtype)
        if not state.rules().view_has_shape:
            return self._reinterpreted(new_type, shape)
        new_shape = values.shape_of(shape)
        partitions, nbytes = region_size(self.alloc)
        if new_shape[0] > partitions:
            raise KernelError("", "partition size is too large for memory region")
        if prod(new_shape[1:]) * new_type.itemsize > nbytes:
            raise KernelError("", "shape is too large for memory region")
        return NkiTensor(self.alloc, on_region(self.alloc, new_shape, new_type), label=_claimed(name) or self.label)

    def _reinterpreted(self, dtype: np.dtype[Any], shape: object) -> NkiTensor:
        if shape is not None:
            raise KernelError("", "view takes a data type only in NKI 0.3: use .reshape for another shape")
        if self.array.strides[-1] != self.dtype.itemsize:
            raise KernelError("", "view: the elements of the last dimension must be contiguous")
        nbytes = self.array.shape[-1] * self.dtype.itemsize
        if nbytes % dtype.itemsize:
            raise KernelError("", f"view: {nbytes} bytes of the last dimension are no whole elements of {dtype.name}")
        return NkiTensor(self.alloc, self.array.view(dtype), form=self.form, dropped=self.dropped, label=self.label)


def _refuse_operator(self: NkiTensor, *other: object) -> Any:
    raise KernelError("", "binary operators on tensors not supported. Use nki.isa directly.")


for _operator in (
    "add sub mul truediv floordiv mod pow and or xor lshift rshift radd rsub rmul rtruediv rfloordiv rmod rpow "
    "rand ror rxor rlshift rrshift iadd isub imul itruediv ifloordiv imod ipow iand ior ixor ilshift irshift lt "
    "le gt ge neg pos invert abs matmul rmatmul imatmul"
).split():
    setattr(NkiTensor, f"__{_operator}__", _refuse_operator)


def _claimed(name: str | None) -> str:
    if name:
        state.current().claim(name)
    return name or ""


def region_size(alloc: Allocation) -> tuple[int, int]:
    """(partitions, bytes a partition) of a tensor's memory; HBM counts its first dimension as partitions."""
    if alloc.space != "hbm":
        return (alloc.partitions, alloc.nbytes)
    rows = alloc.shape[0] if alloc.shape else 1
    return (rows, alloc.nbytes // rows if rows else 0)


def fits(alloc: Allocation, shape: tuple[int, ...], dtype: np.dtype[Any]) -> bool:
    return shape[0] <= alloc.partitions and prod(shape[1:]) * dtype.itemsize <= alloc.nbytes


def on_region(alloc: Allocation, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An array of ``shape`` and ``dtype`` on the bytes of ``alloc``, from its first byte."""
    if alloc.space == "hbm":
        whole: Array = np.ndarray(shape, dtype, buffer=alloc.memory.reshape(-1).view(np.uint8))
        return whole
    pitch = alloc.pitch
    strides = (pitch, *row_major_strides(shape[1:], dtype.itemsize))
    offset = alloc.origin[0] * pitch + alloc.origin[1]
    tile: Array = np.ndarray(shape, dtype, buffer=alloc.memory, offset=offset, strides=strides)
    return tile


# --- subscripts ------------------------------------------------------------------------------------------------------


def _subscript(tensor: NkiTensor, parts: tuple[Any, ...]) -> NkiTensor:
    """A subscript of whatever form, of whatever tensor."""
    if tensor.form == PATTERN:
        raise KernelError("", "subscript not supported, for an access pattern: index the tensor, or extend the pattern")
    if state.rules().free_subscripts:
        return _subscript_of_a_view(tensor, parts)
    if tensor.dropped and not _is_everything(parts):
        raise KernelError(
            "",
            "nested indexing of a tensor that an integer index has reduced is not available in Beta 2: write one "
            "subscript, t[i, a:b]",
        )
    bounds = _bounds(tensor.array.shape, parts)
    if tensor.form == NESTED:
        _check_bounds_of_the_whole(tensor, parts, bounds)
    integers = tuple(d for d, (_, _, is_integer) in enumerate(bounds) if is_integer)
    part = tensor.array[tuple(slice(start, stop) for start, stop, _ in bounds)]
    form = SLICED if tensor.form == WHOLE else NESTED
    return NkiTensor(tensor.alloc, part, form, tensor.dropped + integers, tensor._label, tensor.extents)


def _plain_cut(shape: tuple[int, ...], parts: tuple[Any, ...]) -> tuple[tuple[slice, ...], tuple[int, ...]] | None:
    """What a subscript of ints and slices inside of ``shape`` takes of an array, and which dimensions have an int.

    ``None`` for anything else, which :func:`_bounds` judges.
    """
    if len(parts) > len(shape):
        return None
    cut: Any = parts
    integers: tuple[int, ...] = ()
    d = 0  # to enumerate the parts costs more than to count them
    for part in parts:
        extent = shape[d]
        if type(part) is slice:
            start, stop = part.start, part.stop
            if part.step is not None or not extent:
                return None
            if start is not None and (type(start) is not int or not 0 <= start < extent):
                return None
            if stop is not None and (type(stop) is not int or not 0 <= stop <= extent):
                return None
        elif type(part) is int and 0 <= part < extent:
            if not integers:
                cut = list(parts)
            cut[d] = slice(part, part + 1)
            integers += (d,)
        else:
            return None
        d += 1  # noqa: SIM113
    return (tuple(cut), integers) if integers else (cut, ())


def _subscript_of_a_view(tensor: NkiTensor, parts: Sequence[object]) -> NkiTensor:
    """A subscript from 0.3 on: of what the tensor shows, with steps; partitions stay when they are indexed."""
    shown = [d for d in range(tensor.array.ndim) if d not in tensor.dropped]
    bounds = _bounds(tuple(tensor.array.shape[d] for d in shown), parts, steps=True)
    index: list[slice] = [slice(None)] * tensor.array.ndim
    dropped = list(tensor.dropped)
    for d, (start, stop, integer), step in zip(shown, bounds, _steps(len(shown), parts), strict=True):
        index[d] = slice(start, stop, step)
        if integer and d:
            dropped.append(d)
    return NkiTensor(tensor.alloc, tensor.array[tuple(index)], form=SLICED, dropped=tuple(dropped), label=tensor.label)


def _steps(rank: int, parts: Sequence[object]) -> list[int]:
    """The step of every dimension that ``parts`` index."""
    given = [part for part in parts if part is not ...]
    missing = [1] * (rank - len(given))
    at = parts.index(...) if ... in parts else len(parts)
    steps = [values.integer(p.step) if isinstance(p, slice) and p.step is not None else 1 for p in given]
    return [*steps[:at], *missing, *steps[at:]]


def _check_bounds_of_the_whole(tensor: NkiTensor, parts: Sequence[object], bounds: list[tuple[int, int, bool]]) -> None:
    """From the third subscript on the compiler takes an open or negative bound as one of the whole tensor."""
    if _bounds(tensor.extents, parts) != bounds:
        raise KernelError(
            "",
            f"the compiler resolves ':' and open or negative bounds of a third subscript in the whole tensor, of shape "
            f"{tensor.extents}, instead of {tensor.shape}: write both bounds, or one subscript",
        )


def _is_everything(parts: Sequence[object]) -> bool:
    return all(part is ... or part == slice(None) for part in parts)


def _bounds(shape: tuple[int, ...], parts: Sequence[object], steps: bool = False) -> list[tuple[int, int, bool]]:
    """(start, stop, was an integer) of every dimension; ``steps`` other than 1 are an error unless asked for."""
    bounds: list[tuple[int, int, bool]] = []
    for position, part in enumerate(parts):
        remaining = len(parts) - position - 1
        if part is ...:
            while len(shape) - len(bounds) > remaining:
                bounds.append((0, shape[len(bounds)], False))
            continue
        if len(bounds) == len(shape):
            raise KernelError("", "too many indexes for shape")
        bounds.append(_bound(shape[len(bounds)], part, steps))
    while len(bounds) < len(shape):
        bounds.append((0, shape[len(bounds)], False))
    return bounds


def _bound(extent: int, part: object, steps: bool) -> tuple[int, int, bool]:
    if part is None:
        raise KernelError(
            "", "None is not a new axis in Beta 2 (the compiler reads it as a full slice): use .reshape or .ap"
        )
    if isinstance(part, slice):
        start = 0 if part.start is None else values.integer(part.start)
        stop = extent if part.stop is None else values.integer(part.stop)
        step = 1 if part.step is None else values.integer(part.step)
        start, stop = start + extent * (start < 0), stop + extent * (stop < 0)
        if not 0 <= start < extent or not 0 <= stop <= extent or step <= 0:
            raise KernelError("", "index out of range of tensor dimension")
        if step != 1 and not steps:
            raise KernelError(
                "",
                f"slice with step {step}: the Beta 2 compiler divides the count and drops the stride, so it would read "
                "other elements. Write the stride in an access pattern, t.ap([[step, count], ...])",
            )
        return start, max(start, stop), False
    if isinstance(part, (tuple, list)):
        raise KernelError("", "nested tuple/list indexes not supported")
    if isinstance(part, NkiTensor) or getattr(part, "kind_name", "") == "scalar":
        raise KernelError(
            "", f"expecting 'integer', got '{values.kind(part)}': use .ap(scalar_offset=) for a dynamic index"
        )
    at = values.integer(part)
    if not 0 <= at < extent:
        raise KernelError("", "index out of range of tensor dimension")
    return at, at + 1, True


def _element_steps(tensor: NkiTensor) -> tuple[int, ...]:
    size = tensor.dtype.itemsize
    if tensor.alloc.space == "hbm":
        return tuple(stride // size for stride in tensor.array.strides)
    pitch = tensor.alloc.pitch
    row = tensor.alloc.nbytes // size
    return tuple((stride // pitch) * row + (stride % pitch) // size for stride in tensor.array.strides)


def _element_offset(tensor: NkiTensor) -> int:
    distance = address_of(tensor.array) - tensor.alloc.start
    size = tensor.dtype.itemsize
    if tensor.alloc.space == "hbm":
        return distance // size
    pitch = tensor.alloc.pitch
    row, byte = divmod(distance - tensor.alloc.origin[0] * pitch - tensor.alloc.origin[1], pitch)
    return row * (tensor.alloc.nbytes // size) + byte // size
