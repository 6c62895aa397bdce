"""Accesses that no stride describes: runtime indices, and masks that tie several dimensions.

Each element has a byte offset of its own. Elements out of bounds are an error, unless a mask or ``oob_mode.skip``
leaves them out.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

import numpy as np

from ..errors import KernelError
from ..extents import is_noted, note
from ..isa.core import Result, fit
from ..machine import Machine
from ..memory import Allocation, Array, Computed, View, view_of
from ..numerics import FLOAT32, convert
from .regions import Interval, Region
from .selection import Limit


@dataclass(frozen=True)
class Gather:
    """The integer index arrays of an indirect access, one a dimension of the tensor of ``shape`` that it indexes.

    With ``skip``, elements out of bounds are left alone. ``free``: do runtime values vary along the free dimension?
    """

    shape: tuple[int, ...]
    indices: tuple[Array, ...]
    skip: bool = False
    free: bool = False


class Strided(Protocol):
    """An access as memory sees it: where it begins, its strides in bytes, what of it may be out of bounds."""

    @property
    def alloc(self) -> Allocation: ...
    @property
    def name(self) -> str: ...
    @property
    def space(self) -> str: ...
    @property
    def stored(self) -> np.dtype[Any]: ...
    @property
    def offset(self) -> int: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def limits(self) -> tuple[Limit, ...]: ...
    @property
    def gather(self) -> Gather | None: ...
    def cut(self, where: Region) -> Array: ...


class Gathered(Computed):
    """An operand that was gathered: ``array`` are its elements, ``place`` the tensor that they come from.

    ``valid`` tells the elements that are in bounds, where ``oob_mode.skip`` allows others.
    """

    __slots__ = ("valid",)

    def __init__(self, tile: Strided, array: Array, valid: Array | None) -> None:
        super().__init__(tile.alloc, array, indexed_array(tile))
        self.valid = valid


class Masked(Gathered):
    """What a mask that ties dimensions leaves of an access of which other elements may be out of bounds."""

    __slots__ = ("tile", "where")

    def __init__(self, tile: Strided, array: Array, where: Region) -> None:
        super().__init__(tile, array, None)
        self.tile = tile
        self.where = where

    def rectangle(self, rows: slice, columns: slice) -> View:
        """A view on memory of elements that all take part, by their places in :attr:`array`, which is a plane."""
        box = dict[int, Interval]()
        for d, (part, n) in enumerate(zip((rows, columns), self.array.shape, strict=True)):
            cut = self.where.interval(d, 2, self.tile.shape[d])
            low, (start, stop, _) = 0 if cut is None else cut.low, part.indices(n)
            box[d] = Interval(low + start, low + stop, self.tile.shape[d])
        return view_of(self.alloc, self.tile.cut(Region(2, box)))


def indexed_array(tile: Strided) -> Array:
    """The tensor that an indirect access indexes: of a part of a tensor in HBM, the whole one, as Beta 2 has to."""
    if tile.gather is not None and tile.space == "hbm":
        return tile.alloc.bytes.reshape(-1).view(tile.stored)
    shape = tile.shape if tile.gather is None else tile.gather.shape
    if tile.gather is None and tile.limits:
        shape = tuple(min(n, 1) for n in shape)
    found: Array = np.ndarray(shape, tile.stored, buffer=tile.alloc.bytes, offset=tile.offset, strides=tile.strides)
    return found


def gathered(tile: Strided, where: Region) -> Gathered:
    """The elements of ``tile`` in the part ``where``; elements that take no part are arbitrary."""
    whole_rows = _rows(tile, where)
    if whole_rows is not None:
        return Gathered(tile, whole_rows, None)
    offsets, valid = _offsets(tile, where)
    chosen = where.where(offsets.shape)
    skip = tile.gather is not None and tile.gather.skip
    if not skip:
        _check(tile, where, valid, chosen)
    values = _read(tile, np.where(valid, offsets, tile.offset))
    if tile.gather is None:
        return Masked(tile, values, where)
    return Gathered(tile, values, valid if skip else None)


def scatter(machine: Machine, result: Result, dst: Strided, where: Region, add: bool = False) -> None:
    """Round ``result`` into the elements of ``dst`` that take part, in order; ``add`` to what is there."""
    offsets, valid = _offsets(dst, where)
    chosen = where.where(offsets.shape)
    if dst.gather is None or not dst.gather.skip:
        _check(dst, where, valid, chosen)
    taking = valid if chosen is None else valid & chosen
    values = fit(result.values, offsets.shape)
    at, new = offsets[taking], values[taking]
    if add:
        places, inverse = np.unique(at, return_inverse=True)
        total = _read(dst, places).astype(FLOAT32)
        np.add.at(total, inverse.reshape(-1), new.astype(FLOAT32))
        at, new = places, total
    _write(dst, at, convert(new, dst.stored))
    if machine.recorder is not None:
        view = Gathered(dst, _read(dst, np.where(valid, offsets, dst.offset)), None)
        operands = [("dst", view), *result.also_writes, *result.reads]
        machine.recorder.add(result.op, operands, result.attributes, result.sequence, result.location)


def _rows(tile: Strided, where: Region) -> Array | None:
    """What an indirect access gathers, where that is whole rows of memory, all of them in bounds; else ``None``."""
    size = tile.stored.itemsize
    if tile.gather is None or tile.gather.skip or tile.offset % size or any(s % size for s in tile.strides):
        return None
    box = _box(tile, where)
    first: Array = np.zeros([1] * tile.ndim, np.int64)
    run: Array = np.zeros(1, np.int64)
    for given, extent, stride in zip(tile.gather.indices, tile.gather.shape, tile.strides, strict=True):
        indices = np.asarray(given).reshape(*[1] * (tile.ndim - np.ndim(given)), *np.shape(given))
        indices = indices[tuple(slice(None) if n == 1 else part for n, part in zip(indices.shape, box, strict=True))]
        if indices.size and (indices.min() < 0 or indices.max() >= extent):
            return None
        if indices.shape[-1] == 1:
            first = first + indices * (stride // size)
        elif indices.size == indices.shape[-1]:
            run = run + indices.reshape(-1) * (stride // size)
        else:
            return None
    length = len(range(*box[-1].indices(tile.shape[-1])))
    if len(run) != length or not length or not np.array_equal(run - run[0], np.arange(length)):
        return None
    shape = tuple(len(range(*part.indices(n))) for part, n in zip(box, tile.shape, strict=True))
    memory = tile.alloc.bytes.reshape(-1)
    words = memory[: memory.size // size * size].view(tile.stored if tile.stored.isbuiltin == 1 else f"V{size}")
    rows = np.ndarray((words.size - length + 1, length), words.dtype, words, 0, (size, size))
    starts = np.broadcast_to(first[..., 0] + (run[0] + tile.offset // size), shape[:-1])
    picked: Array = rows[starts]
    return picked if picked.dtype == tile.stored else picked.view(tile.stored)


def _box(tile: Strided, where: Region) -> tuple[slice, ...]:
    """The part of the access that takes part, as one slice a dimension."""
    cuts = [where.interval(d, tile.ndim, n) for d, n in enumerate(tile.shape)]
    return tuple(slice(None) if c is None else slice(c.low, c.high) for c in cuts)


def _offsets(tile: Strided, where: Region) -> tuple[Array, Array]:
    """Byte offset of each element in the allocation's memory, and whether it is in bounds."""
    box = _box(tile, where)
    if tile.gather is not None:
        arrays = [np.broadcast_to(a, tile.shape)[box] for a in tile.gather.indices]
        offsets = np.full(arrays[0].shape, tile.offset, np.int64)
        valid = np.ones(arrays[0].shape, np.bool_)
        for indices, size, stride in zip(arrays, tile.gather.shape, tile.strides, strict=True):
            offsets += indices * stride
            valid &= (indices >= 0) & (indices < size)
        return offsets, valid
    offsets = np.asarray(_grid(tile.shape, tile.strides, tile.offset)[box])
    valid = np.ones(offsets.shape, np.bool_)
    for limit in tile.limits:
        indices = _grid(tile.shape, limit.coefficients, int(limit.const))[box]
        valid &= (indices >= 0) & (indices < limit.size)
    return offsets, valid


def _grid(shape: tuple[int, ...], coefficients: tuple[int, ...], const: int) -> Array:
    total: Array = np.full(shape, const, np.int64)
    for d, (n, c) in enumerate(zip(shape, coefficients, strict=True)):
        total += (np.arange(n) * c).reshape([n if k == d else 1 for k in range(len(shape))])
    return total


def _check(tile: Strided, where: Region, valid: Array, chosen: Array | None) -> None:
    """Raise for an element that takes part and is out of bounds.

    A runtime index gives an ``IndexError``, as documented.
    """
    bad = ~valid if chosen is None else ~valid & chosen
    if not bad.any():
        return
    if tile.gather is None and is_noted():
        _note(tile, where, chosen)
        return
    if tile.gather is None:
        raise KernelError(
            "err_tensor_access_out_of_bound",
            f"Out-of-bound access for tensor `{tile.name}`: {int(bad.sum())} elements of an access of shape "
            f"{list(valid.shape)} are out of bounds",
        )
    first = tuple(int(k[0]) for k in np.nonzero(bad))
    flat = 0
    for indices, n in zip(tile.gather.indices, tile.gather.shape, strict=True):
        flat = flat * n + int(np.broadcast_to(indices, tile.shape)[first])
    raise IndexError(f"index {flat} is out of bounds for axis 0 with size {prod(tile.gather.shape)}")


def _note(tile: Strided, where: Region, chosen: Array | None) -> None:
    """Note how far the elements reach that take part."""
    box = _box(tile, where)
    for limit in tile.limits:
        indices = _grid(tile.shape, limit.coefficients, int(limit.const))[box]
        taking = indices if chosen is None else indices[np.broadcast_to(chosen, indices.shape)]
        if taking.size:
            note(tile.alloc, limit.dimension, limit.size, int(taking.max()))


def _read(tile: Strided, offsets: Array) -> Array:
    size = tile.stored.itemsize
    memory = tile.alloc.bytes.reshape(-1)
    picked = memory[offsets[..., None] + np.arange(size)]
    return np.ascontiguousarray(picked).view(tile.stored).reshape(offsets.shape)


def _write(tile: Strided, offsets: Array, values: Array) -> None:
    size = tile.stored.itemsize
    memory = tile.alloc.bytes.reshape(-1)
    memory[offsets[..., None] + np.arange(size)] = np.ascontiguousarray(values)[..., None].view(np.uint8)
