"""Tensors of Beta 2: what they are, and how subscripts and ``.ap`` turn them into accesses.

Sources: ``reference/beta2.md`` sections 1.9, 2.4 and 2.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..errors import KernelError, NotModelled
from ..memory import Allocation, Array, View, address_of
from . import state, values
from .buffers import Buffer, buffer_of
from .patterns import OutOfBounds, Pattern, check_partition_step, pattern_array
from .regions import Address, fits, on_region, region_size
from .registers import Register
from .subscripts import bounds_of, is_everything, plain_cut, steps_of

WHOLE, SLICED, NESTED, PATTERN = "whole", "sliced", "nested", "pattern"


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
        state.needs_member("address")
        alloc = self.alloc
        return Address((alloc.partition, alloc.byte), region_size(alloc), alloc.name)

    @property
    def offset(self) -> int:
        """First element of the access, counted in the row-major elements of the tensor."""
        return _element_offset(self)

    @property
    def pattern(self) -> tuple[tuple[int, int], ...]:
        """(step, count) of each dimension, in elements of the tensor."""
        state.needs_member("pattern")
        steps = element_steps(self)
        return tuple(zip(steps, self.array.shape, strict=True))

    def resolved(self) -> NkiTensor:
        """The access as it is now. (Accesses with a dynamic offset read it here.)"""
        return self

    def __getitem__(self, index: object) -> NkiTensor:
        """Nothing is clipped; in Beta 2 nothing is stepped, and an integer drops its dimension."""
        parts = index if type(index) is tuple else tuple(index) if isinstance(index, (tuple, list)) else (index,)
        form = self.form
        if form is WHOLE or (form is SLICED and not self.dropped and state.rules().free_subscripts):
            array = self.array
            plain = plain_cut(array.shape, parts)
            if plain is not None:
                cut, dropped = plain
                if dropped and state.rules().free_subscripts:
                    dropped = _dropped(self, array.ndim, dropped)
                return NkiTensor(self.alloc, array[cut], SLICED, dropped, self._label, self._extents or array.shape)
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
        offset: object = None,
        scalar_offset: object = None,
        vector_offset: object = None,
        indirect_dim: object = 0,
        dtype: object = None,
    ) -> NkiTensor:
        """The elements ``offset + sum(i_k * step_k)`` of the row-major tensor, as a tensor of shape ``counts``.

        ``pattern`` is ``[[step, count], ...]``, the partitions first; with ``dtype`` it and ``offset`` count
        elements of that type. ``scalar_offset`` (register or one-element tensor) adds its value times the extent
        of one step of dimension ``indirect_dim``; ``vector_offset`` (one index a row, dimension 0 only) replaces
        the rows. From 0.3 on the tensor may be a view: the pattern is one of the whole tensor, and begins at its first
        element unless ``offset`` says otherwise, from 0.5 on where the view begins.
        """
        return _access(self, pattern, offset, scalar_offset, vector_offset, indirect_dim, dtype)

    def reshape(
        self, shape: Any = None, dtype: object = None, name: Any = None, address_rotation: Any = None, **named: object
    ) -> NkiTensor:
        """The same memory with another shape (and ``dtype``).

        Until 0.4 only of tensors that were not indexed, and into fewer elements as well; 0.4 takes ``new_shape``, too.
        """
        shape = values.shape_given(shape, named)
        if state.rules().counts_reshapes:
            return self._with_all_elements(values.shape_of(shape))
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

    def _with_all_elements(self, shape: tuple[int, ...]) -> NkiTensor:
        if prod(shape) != prod(self.shape):
            raise KernelError("", f"reshape: {shape} has {prod(shape)} elements, {self.shape} has {prod(self.shape)}")
        if self.alloc.space != "hbm" and shape[0] != self.shape[0]:
            raise KernelError("", f"reshape: the partition dimension of {self.shape} stays the first, not {shape[0]}")
        visible = tuple(0 if d in self.dropped else slice(None) for d in range(self.array.ndim))
        array = viewed(self.array[visible], shape, "reshape")
        is_whole = self.form is WHOLE
        return NkiTensor(self.alloc, array, self.form, (), self.label, () if is_whole else self.extents)

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
            raise KernelError(
                "", f"view takes a data type only in NKI {state.version()}: use .reshape for another shape"
            )
        if self.array.strides[-1] != self.dtype.itemsize:
            raise KernelError("", "view: the elements of the last dimension must be contiguous")
        nbytes = self.array.shape[-1] * self.dtype.itemsize
        if nbytes % dtype.itemsize:
            raise KernelError("", f"view: {nbytes} bytes of the last dimension are no whole elements of {dtype.name}")
        *outer, last = self.extents
        extents = (*outer, last * self.dtype.itemsize // dtype.itemsize)
        return NkiTensor(self.alloc, self.array.view(dtype), self.form, self.dropped, self.label, extents)


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


def viewed(array: Array, shape: tuple[int, ...], method: str) -> Array:
    """``array`` with another shape, no element of which moves."""
    made: Array = array.reshape(shape)
    if made.size and not np.may_share_memory(made, array):
        raise KernelError("", f"{method}: the elements of the view do not lie so that they could have shape {shape}")
    return made


# --- subscripts ------------------------------------------------------------------------------------------------------


def _subscript(tensor: NkiTensor, parts: tuple[Any, ...]) -> NkiTensor:
    """A subscript of whatever form, of whatever tensor."""
    if tensor.form == PATTERN:
        raise KernelError("", "subscript not supported, for an access pattern: index the tensor, or extend the pattern")
    if state.rules().free_subscripts:
        return _subscript_of_a_view(tensor, parts)
    if tensor.dropped and not is_everything(parts):
        raise KernelError(
            "",
            "nested indexing of a tensor that an integer index has reduced is not available in Beta 2: write one "
            "subscript, t[i, a:b]",
        )
    bounds = bounds_of(tensor.array.shape, parts)
    if tensor.form == NESTED:
        _check_bounds_of_the_whole(tensor, parts, bounds)
    integers = tuple(d for d, (_, _, is_integer) in enumerate(bounds) if is_integer)
    part = tensor.array[tuple(slice(start, stop) for start, stop, _ in bounds)]
    form = SLICED if tensor.form == WHOLE else NESTED
    return NkiTensor(tensor.alloc, part, form, tensor.dropped + integers, tensor._label, tensor.extents)


def _subscript_of_a_view(tensor: NkiTensor, parts: Sequence[object]) -> NkiTensor:
    """A subscript from 0.3 on: of what the tensor shows, with steps; partitions stay when they are indexed."""
    shown = [d for d in range(tensor.array.ndim) if d not in tensor.dropped]
    bounds = bounds_of(tuple(tensor.array.shape[d] for d in shown), parts, steps=True)
    index: list[slice] = [slice(None)] * tensor.array.ndim
    integers: list[int] = []
    for d, (start, stop, integer), step in zip(shown, bounds, steps_of(len(shown), parts), strict=True):
        index[d] = slice(start, stop, step)
        if integer:
            integers.append(d)
    dropped = (*tensor.dropped, *_dropped(tensor, len(shown), integers))
    return NkiTensor(tensor.alloc, tensor.array[tuple(index)], SLICED, dropped, tensor.label, tensor.extents)


def _dropped(tensor: NkiTensor, shown: int, integers: Sequence[int]) -> tuple[int, ...]:
    """Those of ``shown`` dimensions that integer indices drop: not the partitions, and some dimension stays.

    From 0.5 on two stay on chip; the last one does where too few are left.
    """
    is_on_chip = tensor.alloc.space != "hbm"
    gone = tuple([d for d in integers if d or not is_on_chip])
    least = 2 if is_on_chip and state.rules().two_dimensions else 1
    return gone[: max(shown - least, 0)]


def _check_bounds_of_the_whole(tensor: NkiTensor, parts: Sequence[object], bounds: list[tuple[int, int, bool]]) -> None:
    """From the third subscript on the compiler takes an open or negative bound as one of the whole tensor."""
    if bounds_of(tensor.extents, parts) != bounds:
        raise KernelError(
            "",
            f"the compiler resolves ':' and open or negative bounds of a third subscript in the whole tensor, of shape "
            f"{tensor.extents}, instead of {tensor.shape}: write both bounds, or one subscript",
        )


def element_steps(tensor: NkiTensor) -> tuple[int, ...]:
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


# --- access patterns -------------------------------------------------------------------------------------------------


def one_element(tensor: NkiTensor) -> Array:
    """The array of a tensor that has exactly one element, of an integer type."""
    array = tensor.resolved().array
    if array.size != 1:
        raise KernelError("", f"a register holds one element, the tensor has shape {tensor.shape}")
    if array.dtype.kind not in "iub":
        raise KernelError("", f"a register holds an integer, the tensor is {array.dtype.name}")
    return array


def element(tensor: NkiTensor) -> int:
    """The one element of ``tensor`` as an integer."""
    return int(one_element(tensor).reshape(-1)[0])


def _placeholder(steps: Pattern, dtype: np.dtype[Any]) -> Array:
    """An array of the shape of a pattern that no view can be. (``as_strided`` takes three times as long.)"""
    made: Array = np.ndarray([count for _, count in steps], dtype, np.empty(1, dtype), strides=(0,) * len(steps))
    return made


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
        super().__init__(base.alloc, _placeholder(steps, dtype), form=PATTERN, label=base.label)
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
        super().__init__(base.alloc, _placeholder(steps, dtype), form=PATTERN, label=base.label)
        self.problem = problem

    def resolved(self) -> NkiTensor:
        raise KernelError("", f"'{self.label}': {self.problem.text}")


class GatheredTensor(NkiTensor):
    """An access whose rows are chosen by a tensor of indices (``vector_offset``)."""

    __slots__ = ("base", "indices", "start", "steps")

    def __init__(self, base: NkiTensor, steps: Pattern, start: int, indices: NkiTensor) -> None:
        super().__init__(base.alloc, _placeholder(steps, base.dtype), form=PATTERN, label=base.label)
        self.base, self.steps, self.start, self.indices = base, steps, start, indices

    def resolved(self) -> NkiTensor:
        raise KernelError("", "an access with vector_offset= is only possible in nki.isa.dma_copy")


def _access(
    tensor: NkiTensor,
    pattern: object,
    offset: object,
    scalar_offset: object,
    vector_offset: object,
    indirect_dim: object,
    dtype: object,
) -> NkiTensor:
    """``tensor.ap(...)``."""
    if tensor.form != WHOLE:
        tensor, offset = _whole(tensor, offset)
    steps, start, dim = values.pairs(pattern), values.natural(offset or 0), values.integer(indirect_dim)
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
        check_partition_step(tensor, steps, kind)
        return DynamicTensor(tensor, steps, start, scalar_offset, dim, kind)
    check_partition_step(tensor, steps, kind)
    try:
        return NkiTensor(tensor.alloc, pattern_array(tensor, steps, start, kind), form=PATTERN, label=tensor.label)
    except OutOfBounds as problem:
        return StrayTensor(tensor, steps, kind, problem)


def _whole(view: NkiTensor, offset: object) -> tuple[NkiTensor, object]:
    """The tensor that an access pattern on ``view`` counts in, and where the pattern begins in it."""
    rules = state.rules()
    if not rules.free_subscripts:
        raise KernelError("", "cannot specify an access pattern on an already indexed tensor")
    if isinstance(view, (DynamicTensor, GatheredTensor)):
        raise NotModelled("an access pattern on an access with a dynamic address")
    tensor = NkiTensor(view.alloc, on_region(view.alloc, view.extents, view.dtype), label=view.label)
    begins = _element_offset(view)
    if not rules.inherits_offset:
        return tensor, offset
    if offset is not None and begins:
        raise NotModelled(
            "an access pattern with an offset on a view that has one: the documents do not agree on their sum"
        )
    return tensor, begins or offset


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
