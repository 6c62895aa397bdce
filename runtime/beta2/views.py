"""Methods of a tensor that NKI 0.5 brought: views of the same memory, which every instruction takes.

Source: ``nki.language.NkiTensor`` in the stubs of the 2.31 and 2.32 documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from math import prod
from typing import Any

import numpy as np

from ..errors import KernelError, NotModelled
from ..memory import Array
from . import state, values
from .tensor import SLICED, WHOLE, DynamicTensor, GatheredTensor, NkiTensor, element_steps, viewed

Method = Callable[..., Any]


def _partitioned(tensor: NkiTensor) -> bool:
    """Is dimension 0 the partitions, which no view moves?"""
    return tensor.alloc.space != "hbm"


def _shown(tensor: NkiTensor) -> Array:
    """The array of the dimensions that ``shape`` has."""
    if is_indirect(tensor):
        raise NotModelled("a view of an access with a dynamic address")
    return tensor.array[tuple(0 if d in tensor.dropped else slice(None) for d in range(tensor.array.ndim))]


def _of(tensor: NkiTensor, array: Array) -> NkiTensor:
    return NkiTensor(tensor.alloc, array, SLICED, (), tensor.label, tensor.extents)


def _dimension(tensor: NkiTensor, dim: object, method: str, extra: int = 0) -> int:
    """A dimension that the method may change: one of the tensor's, and on chip not the partitions."""
    at, rank = values.integer(dim), len(tensor.shape) + extra
    if not 0 <= at < rank:
        raise KernelError("", f"{method}: dimension {at} is not one of {rank}")
    if at == 0 and _partitioned(tensor):
        raise KernelError("", f"{method}: dimension 0 of a tensor on chip is the partition dimension")
    return at


def permute(self: NkiTensor, dims: Any) -> NkiTensor:
    """The dimensions in another order; on chip the first stays."""
    order = values.naturals(dims)
    if sorted(order) != list(range(len(self.shape))):
        raise KernelError("", f"permute: {list(order)} is no order of {len(self.shape)} dimensions")
    if _partitioned(self) and order[0] != 0:
        raise KernelError("", "permute: the partition dimension of a tensor on chip stays the first")
    return _of(self, _shown(self).transpose(order))


def broadcast(self: NkiTensor, dim: Any, size: Any) -> NkiTensor:
    """A dimension of extent 1 repeated."""
    at, array = _dimension(self, dim, "broadcast"), _shown(self)
    if array.shape[at] != 1:
        raise KernelError("", f"broadcast: dimension {at} has extent {array.shape[at]}, not 1")
    shape = (*array.shape[:at], values.natural(size), *array.shape[at + 1 :])
    strides = (*array.strides[:at], 0, *array.strides[at + 1 :])
    return _of(self, np.lib.stride_tricks.as_strided(array, shape, strides))


def expand_dim(self: NkiTensor, dim: Any) -> NkiTensor:
    """A new dimension of extent 1 before ``dim``."""
    return _of(self, np.expand_dims(_shown(self), _dimension(self, dim, "expand_dim", extra=1)))


def squeeze_dim(self: NkiTensor, dim: Any) -> NkiTensor:
    """Without a dimension of extent 1."""
    at, array = _dimension(self, dim, "squeeze_dim"), _shown(self)
    if array.shape[at] != 1:
        raise KernelError("", f"squeeze_dim: dimension {at} has extent {array.shape[at]}, not 1")
    return _of(self, array.squeeze(at))


def reshape_dim(self: NkiTensor, dim: Any, shape: Any) -> NkiTensor:
    """One dimension split into several; one of them may be -1."""
    sizes = [values.integer(size) for size in shape]
    trivial = len(sizes) == 1 and values.integer(dim) == 0
    at, array = 0 if trivial else _dimension(self, dim, "reshape_dim"), _shown(self)
    known = prod(size for size in sizes if size != -1)
    sizes = [array.shape[at] // known if size == -1 and known else size for size in sizes]
    if prod(sizes) != array.shape[at]:
        raise KernelError(
            "", f"reshape_dim: {list(shape)} does not have the {array.shape[at]} elements of dimension {at}"
        )
    return _of(self, viewed(array, (*array.shape[:at], *sizes, *array.shape[at + 1 :]), "reshape_dim"))


def flatten_dims(self: NkiTensor, start_dim: Any, end_dim: Any) -> NkiTensor:
    """Dimensions ``start_dim`` to ``end_dim``, that one included, as one."""
    first, last = _dimension(self, start_dim, "flatten_dims"), _dimension(self, end_dim, "flatten_dims")
    array = _shown(self)
    shape = (*array.shape[:first], prod(array.shape[first : last + 1]), *array.shape[last + 1 :])
    return _of(self, viewed(array, shape, "flatten_dims"))


def rearrange(self: NkiTensor, src_pattern: Any, dst_pattern: Any, fixed_sizes: Any = None) -> NkiTensor:
    """Dimensions split, ordered and merged by their names: ``(("b", ("h", "w")), ("b", "w", "h"), {"h": 4})``."""
    groups, wanted = _groups(src_pattern), _groups(dst_pattern)
    names = [name for group in groups for name in group]
    if len(groups) != len(self.shape) or sorted(names) != sorted(name for group in wanted for name in group):
        raise KernelError("", f"rearrange: {src_pattern} and {dst_pattern} do not name the same dimensions")
    sizes, tensor = _extents(groups, self.shape, fixed_sizes or {}), self
    for position in reversed(range(len(groups))):
        if len(groups[position]) > 1:
            tensor = reshape_dim(tensor, position, [sizes[name] for name in groups[position]])
    tensor = permute(tensor, [names.index(name) for group in wanted for name in group])
    for position, group in enumerate(wanted):
        if len(group) > 1:
            tensor = flatten_dims(tensor, position, position + len(group) - 1)
    return tensor


def _extents(groups: list[tuple[str, ...]], shape: tuple[int, ...], given: Mapping[str, int]) -> dict[str, int]:
    """The extent of each name; of a group one may be left to find."""
    sizes = dict(given)
    for group, extent in zip(groups, shape, strict=True):
        unknown = [name for name in group if name not in sizes]
        if len(unknown) > 1:
            raise KernelError("", f"rearrange: the extents of {', '.join(unknown)} are not known")
        for name in unknown:
            sizes[name] = extent // (prod(sizes[n] for n in group if n != name) or 1)
    return sizes


def _groups(pattern: Sequence[Any]) -> list[tuple[str, ...]]:
    return [(item,) if isinstance(item, str) else tuple(item) for item in pattern]


def slice_(self: NkiTensor, dim: Any, start: Any, end: Any, step: Any = 1) -> NkiTensor:
    """``start`` to ``end`` of one dimension."""
    at = values.integer(dim)
    if not 0 <= at < len(self.shape):
        raise KernelError("", f"slice: dimension {at} is not one of {len(self.shape)}")
    first, last, stride = values.integer(start), values.integer(end), values.integer(step)
    if not 0 <= first < last <= self.shape[at] or stride < 1:
        raise KernelError("", f"slice: [{first}, {last}) with step {stride} of dimension {at} of {self.shape}")
    return self[(slice(None),) * at + (slice(first, last, stride),)]


def select(self: NkiTensor, dim: Any, index: Any) -> NkiTensor:
    """One element of a dimension: a number, or what a tensor of one element says when an instruction reads it."""
    if not isinstance(index, NkiTensor):
        return self[(slice(None),) * values.integer(dim) + (values.integer(index),)]
    if self.form != WHOLE:
        raise NotModelled("select with a tensor, of a view")
    at = _dimension(self, dim, "select")
    pairs = [list(pair) for pair in zip(element_steps(self), self.array.shape, strict=True)]
    return self.ap([pair for d, pair in enumerate(pairs) if d != at], 0, scalar_offset=index, indirect_dim=at)


def vector_select(self: NkiTensor, dim: Any, vector_offset: Any) -> NkiTensor:
    """A row of a tensor in HBM for each index of ``vector_offset``."""
    if values.integer(dim) != 0:
        raise KernelError("", "vector_select: dim must be 0")
    if self.form != WHOLE:
        raise NotModelled("vector_select of a view")
    pairs = [list(pair) for pair in zip(element_steps(self), self.array.shape, strict=True)]
    return self.ap([[pairs[0][0], vector_offset.shape[0]], *pairs[1:]], 0, vector_offset=vector_offset)


def indirect(self: NkiTensor, index: Any, num_elem: Any = None) -> NkiTensor:
    """Partitions that a tensor of indices selects (NeuronCore-v4)."""
    raise NotModelled("tensor indirection on chip, .indirect()")


def is_indirect(self: NkiTensor) -> bool:
    """Does the address depend on something that is known on chip only?"""
    return isinstance(self, (DynamicTensor, GatheredTensor))


def is_contiguous(self: NkiTensor) -> bool:
    """Do the elements lie one after the other? (Partitions do not count.)"""
    array, size = _shown(self), self.dtype.itemsize
    for extent, stride in list(zip(array.shape, array.strides, strict=True))[::-1][: array.ndim - _partitioned(self)]:
        if extent != 1 and stride != size:
            return False
        size *= extent
    return True


def get_pattern(self: NkiTensor) -> list[list[int]]:
    """``[[step, count], ...]`` of the dimensions of ``shape``."""
    steps = zip(element_steps(self), self.array.shape, strict=True)
    return [[step, count] for d, (step, count) in enumerate(steps) if d not in self.dropped]


def _strides(self: NkiTensor) -> tuple[int, ...]:
    return tuple(step for step, _ in get_pattern(self))


def _size(self: NkiTensor) -> int:
    return prod(self.shape)


def _reinterpret_cast(self: NkiTensor, dtype: Any) -> NkiTensor:
    return self.view(dtype)


def _known(name: str, method: Method) -> Method:
    """``method``, refused by versions whose tensors do not have it."""

    @wraps(method)
    def call(self: NkiTensor, *args: Any, **kwargs: Any) -> Any:
        state.needs_member(name)
        return method(self, *args, **kwargs)

    return call


class NkiInstruction:
    """What instructions of 0.6 give back, for schedules; kernels name it in annotations."""


_METHODS: dict[str, Method] = {
    "slice": slice_,
    "reinterpret_cast": _reinterpret_cast,
    **{
        method.__name__: method
        for method in (
            *(permute, broadcast, expand_dim, squeeze_dim, reshape_dim, flatten_dims, rearrange, select),
            *(vector_select, indirect, is_indirect, is_contiguous, get_pattern),
        )
    },
}
for _name, _method in _METHODS.items():
    setattr(NkiTensor, _name, _known(_name, _method))
for _name, _method in (("strides", _strides), ("size", _size)):
    setattr(NkiTensor, _name, property(_known(_name, _method)))
