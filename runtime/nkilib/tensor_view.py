"""``nkilib.core.utils.tensor_view``: views of tensors by size and stride, turned into access patterns when they
are used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from ..beta2.buffers import BUFFERS
from ..beta2.objects import NKIObject
from ..beta2.registers import Register
from ..beta2.tensor import NkiTensor
from .allocator import sizeinbytes
from .kernel_assert import kernel_assert

Group = str | tuple[str, ...]


@dataclass(frozen=True)
class _Layout:
    """Where a view's elements lie in its base tensor: sizes and strides in elements of ``dtype``, the first at
    ``offset``.

    ``scalar`` or ``vector`` is the dynamic offset along dimension ``indirect`` of the base tensor.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    dtype: Any
    scalar: NkiTensor | Register | None = None
    vector: NkiTensor | None = None
    indirect: int | None = None

    def spliced(self, start: int, stop: int, *dims: tuple[int, int]) -> _Layout:
        """With dimensions ``start`` to ``stop`` replaced by ``dims``, pairs of size and stride."""
        shape = (*self.shape[:start], *(size for size, _ in dims), *self.shape[stop:])
        strides = (*self.strides[:start], *(stride for _, stride in dims), *self.strides[stop:])
        return replace(self, shape=shape, strides=strides)


class TensorView(NKIObject):
    """A view of ``base_tensor`` (a tensor or another view). Every method gives a new view, no data moves.

    The partition dimension of an on-chip tensor stays first and whole; a dimension that a vector of indices
    selects stays first as well.
    """

    base_tensor: NkiTensor
    _layout: _Layout

    def __init__(self, base_tensor: NkiTensor | TensorView) -> None:
        kernel_assert(base_tensor is not None, "Base tensor cannot be None")
        if isinstance(base_tensor, TensorView):
            self.base_tensor, self._layout = base_tensor.base_tensor, base_tensor._layout
            return
        shape = tuple(base_tensor.shape)
        self.base_tensor = base_tensor
        self._layout = _Layout(shape, TensorView.get_trivial_strides(shape), 0, base_tensor.dtype)

    def _with(self, layout: _Layout, base: NkiTensor | None = None) -> TensorView:
        view = TensorView(self)
        view.base_tensor, view._layout = base if base is not None else self.base_tensor, layout
        return view

    @property
    def shape(self) -> tuple[int, ...]:
        return self._layout.shape

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements from one index to the next, of each dimension."""
        return self._layout.strides

    @property
    def offset(self) -> int:
        return self._layout.offset

    @property
    def dtype(self) -> Any:
        return self._layout.dtype

    @property
    def scalar_offset(self) -> NkiTensor | Register | None:
        return self._layout.scalar

    @property
    def vector_offset(self) -> NkiTensor | None:
        return self._layout.vector

    @property
    def indirect_dim(self) -> int | None:
        return self._layout.indirect

    def get_dim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def is_sbuf(self) -> bool:
        return self.base_tensor.buffer == BUFFERS["sbuf"]

    def is_hbm(self) -> bool:
        return self.base_tensor.buffer.space == "hbm"

    def has_dynamic_access(self) -> bool:
        """Does a value on chip choose what the view shows (:meth:`select` with a tensor)?"""
        return self._layout.scalar is not None and self._layout.indirect is not None

    @staticmethod
    def get_trivial_strides(shape: Sequence[int], base_stride: int = 1) -> tuple[int, ...]:
        """Row-major strides of ``shape``, the innermost being ``base_stride``."""
        return tuple(base_stride * prod(shape[d + 1 :]) for d in range(len(shape)))

    def get_view(self) -> NkiTensor:
        """The view as a tensor that instructions take."""
        at = self._layout
        pattern = [list(pair) for pair in zip(at.strides, at.shape, strict=True)]
        if at.indirect is None:
            return self.base_tensor.ap(pattern, at.offset, dtype=at.dtype)
        if at.vector is not None:
            return self.base_tensor.ap(pattern, at.offset, vector_offset=at.vector, indirect_dim=at.indirect)
        return self.base_tensor.ap(
            pattern, at.offset, scalar_offset=at.scalar, indirect_dim=at.indirect, dtype=at.dtype
        )

    # --- one dimension ---

    def _check_dim(self, dim: int, what: str, *, first_is_fixed: bool = True) -> None:
        """Check that ``dim`` exists and, if it is the first one, may be treated so."""
        kernel_assert(0 <= dim < self.get_dim(), f"Dimension {dim} out of range for {self.get_dim()}D tensor")
        if self._layout.vector is not None:
            kernel_assert(dim != 0, f"Cannot {what} vector_select dim (dim 0)")
        if first_is_fixed and self.is_sbuf():
            kernel_assert(dim > 0, f"Cannot {what} the partition dimension of an SBUF tensor")

    def slice(self, dim: int, start: int, end: int, step: int = 1) -> TensorView:
        """Indices ``start, start + step, ...`` below ``end`` of one dimension; ``end`` is clamped to its size."""
        self._check_dim(dim, "slice", first_is_fixed=False)
        kernel_assert(start >= 0, "Start index must be non-negative")
        kernel_assert(end > start, "End index must be greater than start")
        stride = self.strides[dim]
        count = -(-(min(end, self.shape[dim]) - start) // step)
        layout = self._layout.spliced(dim, dim + 1, (count, stride * step))
        return self._with(replace(layout, offset=self.offset + start * stride))

    def broadcast(self, dim: int, size: int) -> TensorView:
        """Repeat a dimension of size 1 ``size`` times."""
        self._check_dim(dim, "broadcast")
        kernel_assert(self.shape[dim] == 1, f"Can only broadcast size-1 dimensions, got size {self.shape[dim]}")
        return self._with(self._layout.spliced(dim, dim + 1, (size, 0)))

    def expand_dim(self, dim: int) -> TensorView:
        """Insert a dimension of size 1 before ``dim``."""
        kernel_assert(0 <= dim <= self.get_dim(), f"Dimension {dim} out of range")
        kernel_assert(dim > 0 or (self._layout.vector is None and not self.is_sbuf()), "Cannot expand before dim 0")
        stride = 1 if dim == self.get_dim() else self.strides[dim] * self.shape[dim]
        return self._with(self._layout.spliced(dim, dim, (1, stride)))

    def squeeze_dim(self, dim: int) -> TensorView:
        """Remove a dimension of size 1."""
        self._check_dim(dim, "squeeze")
        kernel_assert(self.shape[dim] == 1, f"Can only squeeze size-1 dimensions, got size {self.shape[dim]}")
        return self._with(self._layout.spliced(dim, dim + 1))

    def reshape_dim(self, dim: int, shape: Sequence[int]) -> TensorView:
        """Split one dimension into ``shape``, of which one size may be -1."""
        self._check_dim(dim, "reshape", first_is_fixed=len(shape) != 1)
        sizes = _inferred(self.shape[dim], tuple(shape))
        kernel_assert(prod(sizes) == self.shape[dim], f"Size mismatch: {self.shape[dim]} != {prod(sizes)}")
        strides = TensorView.get_trivial_strides(sizes, self.strides[dim])
        return self._with(self._layout.spliced(dim, dim + 1, *zip(sizes, strides, strict=True)))

    # --- several dimensions ---

    def permute(self, dims: Sequence[int]) -> TensorView:
        """Reorder the dimensions."""
        TensorView.validate_permutation(tuple(dims), self.get_dim(), self.is_sbuf())
        kernel_assert(
            self._layout.vector is None or dims[0] == 0, "Cannot move vector_select dim (dim 0) during permute"
        )
        shape, strides = tuple(self.shape[d] for d in dims), tuple(self.strides[d] for d in dims)
        return self._with(replace(self._layout, shape=shape, strides=strides))

    @staticmethod
    def validate_permutation(permutation: Sequence[int], dim: int, is_sbuf: bool) -> None:
        """Raise unless ``permutation`` reorders ``dim`` dimensions (and, in SBUF, leaves the first in its place)."""
        kernel_assert(len(permutation) == dim, f"Permutation length {len(permutation)} != dimension count {dim}")
        kernel_assert(
            sorted(permutation) == list(range(dim)), f"{tuple(permutation)} is not a permutation of {dim} dims"
        )
        kernel_assert(not is_sbuf or permutation[0] == 0, "Partition dimension stay the outermost dimension")

    def flatten_dims(self, start_dim: int, end_dim: int) -> TensorView:
        """Make one dimension of ``start_dim`` to ``end_dim`` (inclusive), which must be contiguous in memory."""
        kernel_assert(start_dim < end_dim, "Start dimension must be less than end dimension")
        kernel_assert(end_dim < self.get_dim(), f"End dimension {end_dim} out of range")
        self._check_dim(start_dim, "flatten")
        for d in range(start_dim, end_dim):
            kernel_assert(
                self.strides[d] == self.shape[d + 1] * self.strides[d + 1],
                f"Dimensions {d} and {d + 1} are not contiguous in memory",
            )
        whole = (prod(self.shape[start_dim : end_dim + 1]), self.strides[end_dim])
        return self._with(self._layout.spliced(start_dim, end_dim + 1, whole))

    def reshape(self, new_shape: Sequence[int]) -> TensorView:
        """Another shape with the same elements in the same order; fails where that would need a copy."""
        new = tuple(new_shape)
        kernel_assert(
            prod(new) == prod(self.shape),
            f"reshape: size mismatch {self.shape} ({prod(self.shape)} elements) -> {new} ({prod(new)} elements)",
        )
        kept = 0 if self.is_hbm() or not self.shape else 1
        kernel_assert(new[:kept] == self.shape[:kept], "reshape: partition dim (dim 0) size must be preserved")
        blocks = _contiguous_blocks(self.shape[kept:], self.strides[kept:])
        strides: list[int] = []
        for size in reversed(new[kept:]):
            block, stride = blocks[-1]
            kernel_assert(
                size > 0 and block % size == 0,
                f"reshape: non-contiguous layout prevents reshape without copy. shape: {self.shape}, strides: "
                f"{self.strides} -> {new}",
            )
            strides.append(stride)
            blocks[-1] = (block // size, stride * size)
            if blocks[-1][0] == 1 and len(blocks) > 1:
                blocks.pop()
        return self._with(replace(self._layout, shape=new, strides=(*self.strides[:kept], *reversed(strides))))

    def rearrange(
        self, src_pattern: Sequence[Group], dst_pattern: Sequence[Group], fixed_sizes: Mapping[str, int] | None = None
    ) -> TensorView:
        """Split, reorder and join dimensions by names: ``(("b", ("h", "w")), ("b", "w", "h"), {"h": 32})``."""
        sizes = fixed_sizes or {}
        view: TensorView = self
        source: list[str] = []
        for group in src_pattern:
            if isinstance(group, tuple):
                view = view.reshape_dim(len(source), tuple(sizes.get(name, -1) for name in group))
            source.extend(_names(group))
        wanted = [name for group in dst_pattern for name in _names(group)]
        view = view.permute([source.index(name) for name in wanted if name in source])
        for position, group in enumerate(dst_pattern):
            if len(_names(group)) > 1:
                view = view.flatten_dims(position, position + len(group) - 1)
        return view

    # --- other types, and dynamic offsets ---

    def reinterpret_cast(self, new_dtype: Any) -> TensorView:
        """The same bytes as elements of ``new_dtype``: the last dimension, contiguous, shrinks or grows."""
        old, new = sizeinbytes(self.dtype), sizeinbytes(new_dtype)
        if old == new:
            return self._with(replace(self._layout, dtype=new_dtype))
        kernel_assert(
            self._layout.indirect is None, "reinterpret_cast after a dynamic select needs equal element sizes"
        )
        kernel_assert(self.strides[-1] == 1, f"reinterpret_cast needs a last stride of 1, got {self.strides[-1]}")
        outer = [_rescaled(stride, old, new, "stride") for stride in self.strides[:-1]]
        return self._with(
            replace(
                self._layout,
                shape=(*self.shape[:-1], _rescaled(self.shape[-1], old, new, "last dimension")),
                strides=(*outer, 1),
                offset=_rescaled(self.offset, old, new, "offset"),
                dtype=new_dtype,
            )
        )

    def select(self, dim: int, index: int | NkiTensor | Register) -> TensorView:
        """One index of a dimension, which disappears; the index may be a value on chip."""
        if isinstance(index, int):
            return self.slice(dim, index, index + 1).squeeze_dim(dim)
        kernel_assert(self._layout.indirect is None, "Cannot have multiple dynamic selects")
        kernel_assert(self.strides[dim] != 0, "Cannot dynamic select on broadcast dimension (stride=0)")
        base, base_dim = self._base_with_stride(self.strides[dim])
        return self._with(replace(self._layout.spliced(dim, dim + 1), scalar=index, indirect=base_dim), base)

    def vector_select(self, dim: int, vector_offset: NkiTensor) -> TensorView:
        """Replace dimension 0 by the indices that ``vector_offset`` holds, one a partition."""
        kernel_assert(dim == 0, "vector_select currently only supports dim=0")
        kernel_assert(self._layout.indirect is None, "Cannot have multiple dynamic selects")
        kernel_assert(self.strides[0] != 0, "Cannot vector_select on broadcast dimension (stride=0)")
        kernel_assert(self.strides[0] == max(self.strides), "vector_select dim must have the largest stride")
        base, base_dim = self._base_with_stride(self.strides[0])
        layout = self._layout.spliced(0, 1, (vector_offset.shape[0], self.strides[0]))
        return self._with(replace(layout, vector=vector_offset, indirect=base_dim), base)

    def _base_with_stride(self, stride: int) -> tuple[NkiTensor, int]:
        """The base tensor, reshaped where needed, and a dimension of it whose stride is ``stride``."""
        shape = tuple(self.base_tensor.shape)
        strides = TensorView.get_trivial_strides(shape)
        for dim in reversed(range(len(shape))):
            if strides[dim] == stride:
                return self.base_tensor, dim
        for dim in reversed(range(0 if self.is_hbm() else 1, len(shape))):
            inner, rest = divmod(stride, strides[dim])
            if not rest and inner and shape[dim] >= inner and shape[dim] % inner == 0:
                split = (*shape[:dim], shape[dim] // inner, inner, *shape[dim + 1 :])
                return self.base_tensor.reshape(split), dim
        kernel_assert(False, f"Cannot create base dim with stride {stride}")
        raise AssertionError


def _names(group: Group) -> tuple[str, ...]:
    return group if isinstance(group, tuple) else (group,)


def _inferred(size: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """``shape`` with its -1 replaced so that the product is ``size``."""
    if -1 not in shape:
        return shape
    kernel_assert(shape.count(-1) == 1, "Only one dimension can be reshaped to -1")
    known = -prod(shape)
    kernel_assert(known > 0 and size % known == 0, "Cannot reshape with -1")
    return tuple(size // known if n == -1 else n for n in shape)


def _rescaled(value: int, old: int, new: int, what: str) -> int:
    """``value`` counted in elements of ``new`` bytes instead of ``old``."""
    kernel_assert(value * old % new == 0, f"reinterpret_cast: {what} {value} is not divisible by {new // old}")
    return value * old // new


def _contiguous_blocks(shape: Sequence[int], strides: Sequence[int]) -> list[tuple[int, int]]:
    """(elements, innermost stride) of each run of dimensions that memory holds without a gap; extents of 1 do not
    count."""
    blocks: list[tuple[int, int]] = []
    outer_stride = 0
    for size, stride in zip(shape, strides, strict=True):
        if size == 1:
            continue
        if blocks and outer_stride == size * stride:
            blocks[-1] = (blocks[-1][0] * size, stride)
        else:
            blocks.append((size, stride))
        outer_stride = stride
    return blocks or [(1, 1)]
