"""``tensor[...]``: from a subscript to a view.

Every affine subscript is a strided view: the stride along one result dimension is the sum, over the tensor's
dimensions, of the index vector's coefficient times the tensor's stride. Runtime values as indices become gathers
(:mod:`.indirect`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from ..errors import KernelError, NotModelled
from .base import Shape, Tensor
from .indexing import Index, Mask, broadcast, vector_of
from .indirect import Gather, Strided
from .runtime_index import RuntimeIndex, runtime_values
from .selection import Limit, affine, span
from .tokens import Slice

_INTS = (int, np.integer)


class Subscripted(Strided, Protocol):
    """What is subscripted, and what of it a subscript may ask for."""

    def __getitem__(self, key: Any) -> Any: ...
    def part(self, offset: int, shape: Shape, strides: Shape, limits: tuple[Limit, ...]) -> Any: ...
    def restricted(self, mask: Any) -> Any: ...
    def settled(self) -> Any: ...
    def gathering(self, shape: Shape, gather: Gather) -> Any: ...
    def placed(self, part: Any) -> Any: ...


def subscripted(tile: Subscripted, key: Any) -> Any:
    """The view ``tile[key]``, where it is not one by ints and slices alone, or by ints and index vectors alone."""
    if isinstance(key, (Mask, bool)) or key is None:
        return tile.restricted(key)
    items = _expanded(tile, list(key) if isinstance(key, tuple) else [key])
    if any(isinstance(k, (Index, Tensor, RuntimeIndex)) for k in items):
        return _advanced(tile, items)
    return _basic(tile, items)


def _expanded(tile: Subscripted, items: list[Any]) -> list[Any]:
    """One index for each dimension of ``tile``: ``...`` spelled out, missing ones filled with ``:``."""
    dots = [d for d, k in enumerate(items) if k is Ellipsis]
    if len(dots) > 1:
        raise KernelError("", f"more than one '...' in a subscript of '{tile.name}'")
    if len(items) - len(dots) > tile.ndim:
        raise KernelError("", f"too many indices for {tile!r}: {len(items) - len(dots)}")
    missing = [slice(None)] * (tile.ndim - len(items) + len(dots))
    if dots:
        items[dots[0] : dots[0] + 1] = missing
        return items
    return items + missing


def _basic(tile: Subscripted, items: list[Any]) -> Any:
    """Ints, slices and ``nl.ds``, of which any int will do."""
    for k in items:
        if not isinstance(k, (slice, Slice, *_INTS)):
            raise KernelError("", f"'{type(k).__name__}' cannot index a tensor")
    return tile[tuple([int(k) if isinstance(k, _INTS) else k for k in items])]


def _advanced(tile: Subscripted, items: list[Any]) -> Any:
    """Index vectors and scalars: the vectors broadcast, and the result has their common shape."""
    if any(isinstance(k, (Tensor, RuntimeIndex)) for k in items):
        return _gather(tile, items)
    tile.settled()
    for k in items:
        if isinstance(k, (slice, Slice)):
            raise _mixing(tile)
        if not isinstance(k, (Index, *_INTS)):
            raise KernelError("", f"'{type(k).__name__}' cannot index a tensor")
    keys = [_whole_constant(k) for k in _aligned(tile, items)]
    vectors = tuple([k for k in keys if type(k) is Index])
    selected = affine(tuple([(k.const, k.form) if type(k) is Index else k for k in keys]), tile.shape, tile.strides)
    offset, shape, strides, limits, partitions_elsewhere = selected
    if tile.alloc.space != "hbm":
        if len(shape) < 2:
            raise KernelError(
                "err_1d_arange_not_supported", f"indexing tensor `{tile.name}` with 1d arange is not supported"
            )
        if partitions_elsewhere:
            raise KernelError(
                "", f"the partition dimension of tensor `{tile.name}` must be indexed along the first axis of the index"
            )
    view = tile.part(tile.offset + offset, shape, strides, limits)
    view.indexed_by = vectors
    return view


def _whole_constant(k: Any) -> Any:
    """An index vector whose constant is an int; raises for one whose constant is no whole number."""
    if type(k) is not Index or type(k.const) is int:
        return k
    if k.const != int(k.const):
        raise KernelError("", f"{k.const} is not an integer index")
    return vector_of(int(k.const), k.extents, k.coefficients, k.axes)


def _aligned(tile: Subscripted, items: Sequence[Any]) -> list[Any]:
    """``items`` with column vectors of fewer dimensions than the others as columns still, ``[:, None]`` beside 4-D.

    numpy would put their values elsewhere than the first axis, and leave none for the partitions: the team's
    convolutions (``conv.py:245,822`` of nki-samples) mean the first one. In HBM numpy's reading may have partitions,
    too: then it is refused.
    """
    vectors = {d: k for d, k in enumerate(items) if isinstance(k, Index)}
    rank = max(len(v.extents) for v in vectors.values())
    columns = {d for d, v in vectors.items() if 1 < v.ndim < rank and v.extents[0] > 1 and max(v.extents[1:]) == 1}
    if tile.space != "hbm":
        partition = vectors[0].axes[0] if 0 in columns else frozenset[int]()
        columns = {d for d in columns if vectors[d].axes[0] & partition}
    elif columns and any(v.ndim == rank and v.extents[0] > 1 for v in vectors.values()):
        raise NotModelled(f"a subscript of '{tile.name}' by a column beside index vectors with partitions of their own")
    return [k.leading(rank) if d in columns else k for d, k in enumerate(items)]


def _mixing(tile: Subscripted) -> KernelError:
    return KernelError(
        "err_unsupported_mixing_basic_advanced_tensor_indexing",
        f"Mixing basic tensor indexing and advanced tensor indexing is not supported (tensor `{tile.name}`).",
    )


# --- runtime values as indices ---------------------------------------------------------------------------------------


def _at_scalars(tile: Subscripted, items: list[Any]) -> Any:
    """The part of a tensor that single runtime elements choose; no part of one in HBM where they point beside it."""
    plain = [int(runtime_values(k).reshape(())) if isinstance(k, (Tensor, RuntimeIndex)) else k for k in items]
    inside = all(0 <= k < n for k, n in zip(plain, tile.shape, strict=True) if isinstance(k, int))
    return tile.placed(_basic(tile, plain)) if inside or tile.space != "hbm" else _outside(tile, plain)


def _gather(tile: Subscripted, items: list[Any]) -> Any:
    """At least one runtime index. A single runtime element counts as a scalar, so slices may stand beside it."""
    scalars = [runtime_values(k) for k in items if isinstance(k, (Tensor, RuntimeIndex))]
    free = any(isinstance(k, Tensor) and runtime_values(k).size != runtime_values(k).shape[0] for k in items)
    if all(v.size == 1 for v in scalars) and not any(isinstance(k, Index) for k in items):
        return _at_scalars(tile, items)
    tile.settled()
    if any(isinstance(k, (slice, Slice)) for k in items):
        if any(isinstance(k, Index) for k in items):
            raise _mixing(tile)
        items = _spread(tile, items)
    arrays = [runtime_values(k) for k in items]
    shape = broadcast(*(a.shape for a in arrays))
    return tile.gathering(shape, Gather(tile.shape, tuple(arrays), free=free))


def _outside(tile: Subscripted, items: list[Any]) -> Any:
    """Ints and slices, of which an int read at run time is out of bounds: ``oob_mode.skip`` may leave all of it out."""
    tile.settled()
    spans = [span(k, n) for k, n in zip(items, tile.shape, strict=True)]
    kept = [d for d, (_, _, _, stays) in enumerate(spans) if stays]
    arrays = []
    for d, (start, count, step, stays) in enumerate(spans):
        values = start + step * np.arange(count)
        arrays.append(values.reshape([count if d == r else 1 for r in kept] if stays else ()))
    shape = tuple(spans[d][1] for d in kept)
    return tile.gathering(shape, Gather(tile.shape, tuple(arrays), free=False))


def _spread(tile: Subscripted, items: list[Any]) -> list[Any]:
    """``x[idx, :]`` with ``idx`` of (P, 1): the slices become vectors behind the index tile's partitions."""
    sliced = [d for d, k in enumerate(items) if isinstance(k, (slice, Slice))]
    out = []
    for d, k in enumerate(items):
        if d in sliced:
            start, count, step, _ = span(k, tile.shape[d])
            values = start + step * np.arange(count)
            at = sliced.index(d) + 1
            out.append(RuntimeIndex(values.reshape([count if r == at else 1 for r in range(len(sliced) + 1)])))
        elif isinstance(k, (Tensor, RuntimeIndex)):
            values = runtime_values(k)
            out.append(RuntimeIndex(values.reshape(values.shape[0], *[1] * len(sliced))))
        else:
            out.append(k)
    return out
