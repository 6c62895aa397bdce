"""Tensors with block dimensions: grids of logical tiles, each an allocation of its own."""

from __future__ import annotations

import itertools
from math import prod
from typing import Any

import numpy as np

from ..abridging import is_probe
from ..errors import KernelError, NotModelled
from ..session import RUNNING
from .base import Shape, Tensor
from .indexing import Index, Mask
from .selection import Limit
from .state import State, state
from .tensor import Tile
from .tokens import Buffer, ParDim, Slice, dtype_of

_INT = {int}


class BlockTensor(Tensor):
    """Logical tiles with block indices: ``shape`` is ``(*blocks, partitions, *free)``.

    ``index`` are the block indices given so far, when this is a part of a larger tensor; ``outside`` one that is out of
    bounds, which is an error unless a mask keeps the instruction from executing.
    """

    __slots__ = ("_tiles", "blocks", "index", "outside")

    def __init__(self, tiles: BlockTiles, blocks: Shape, index: Shape = (), outside: Limit | None = None) -> None:
        self._tiles = tiles
        self.blocks = blocks
        self.index = index
        self.outside = outside

    @property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]  # a field of the base
        return self._tiles.dtype

    @property
    def buffer(self) -> Buffer:  # type: ignore[override]  # a field of the base
        return self._tiles.buffer

    @property
    def shape(self) -> Shape:  # type: ignore[override]  # a field of the base
        return (*self.blocks, ParDim(self._tiles.shape[0]), *self._tiles.shape[1:])

    @property
    def name(self) -> str:
        return self._tiles.name

    def __repr__(self) -> str:
        return f"{self.dtype} {self.name}[{', '.join(map(str, self.shape))}] in {self.buffer.space}"

    def as_tile(self) -> Tile:
        raise KernelError(
            "err_failed_to_infer_tile_from_local_tensor", f"Failed to infer tile from tensor '{self.name}'"
        )

    def __getitem__(self, key: Any) -> Any:
        keys = key if isinstance(key, tuple) else (key,)
        if not self.index and self.outside is None:
            blocks = len(self.blocks)
            chosen = keys[:blocks]
            ints = type(keys[0]) is int if blocks == 1 and keys else {*map(type, chosen)} == _INT
            known = self._tiles.made.get(chosen) if ints else None
            if known is not None:
                return known if len(keys) == blocks else known[keys[blocks:]]
        if keys and keys[0] is Ellipsis and len(keys) == 1:
            return self
        taken: list[int] = []
        outside = self.outside
        for k in keys[: len(self.blocks)]:
            position, size = k if type(k) is int else self._block_index(k), self.blocks[len(taken)]
            if not 0 <= position < size:
                outside = outside or Limit(len(self.index) + len(taken), size, position, ())
                position = 0
            taken.append(position)
        index = (*self.index, *taken)
        if len(taken) < len(self.blocks):
            return BlockTensor(self._tiles, self.blocks[len(taken) :], index, outside)
        tile = self._tiles.at(index)
        rest = keys[len(taken) :]
        part = tile[rest] if rest else tile
        return part if outside is None else part.limited(outside)

    def _block_index(self, k: Any) -> int:
        if isinstance(k, Tensor):
            raise NotModelled("a runtime value as a block index")
        if isinstance(k, Index) and prod(k.extents) == 1:
            k = k.const
        if isinstance(k, (slice, Slice, Index, Mask)) or k is Ellipsis or k is None:
            raise NotModelled("a slice or a vector across a block dimension")
        return int(k)

    def __setitem__(self, key: Any, value: Any) -> None:
        running = RUNNING.get()  # state(), without a call
        current = state() if running is None or type(running.front) is not State else running.front
        current.operators.assign(self[key], value)

    def fill(self, value: Any) -> None:
        """Fill all logical tiles, in a probe when they are made."""
        if is_probe():
            self._tiles.value = value
        else:
            for index in itertools.product(*(range(n) for n in self.blocks)):
                self._tiles.at(index)
        for tile in self._tiles.made.values():
            tile[...] = value

    def view(self, dtype: Any) -> BlockTensor:
        """Every logical tile read as ``dtype``."""
        return BlockTensor(_Viewed(self._tiles, dtype_of(dtype)), self.blocks, self.index, self.outside)

    def reshape(self, *shape: Any) -> Any:
        raise NotModelled("reshape of a tensor with block dimensions")

    def broadcast_to(self, shape: Any) -> Any:
        self.as_tile()


class BlockTiles:
    """The logical tiles of a block tensor, made when they are first used. ``shape`` is that of each."""

    __slots__ = ("made",)
    value: Any
    name: str
    shape: Shape
    dtype: np.dtype[Any]
    buffer: Buffer

    def __init__(self) -> None:
        self.made: dict[Shape, Tile] = {}

    def at(self, index: Shape) -> Tile:
        tile = self.made.get(index)
        if tile is None:
            tile = self.made[index] = self._make(index)
        return tile

    def _make(self, index: Shape) -> Tile:
        raise NotImplementedError


class _Viewed(BlockTiles):
    """The tiles of another tensor, read as ``dtype``."""

    def __init__(self, tiles: BlockTiles, dtype: np.dtype[Any]) -> None:
        super().__init__()
        self._tiles = tiles
        self.name, self.dtype, self.buffer = tiles.name, dtype, tiles.buffer
        self.shape = (*tiles.shape[:-1], tiles.shape[-1] * tiles.dtype.itemsize // dtype.itemsize)

    def _make(self, index: Shape) -> Tile:
        return self._tiles.at(index).view(self.dtype)


def split_shape(shape: Any, on_chip: bool) -> tuple[Shape, Shape]:
    """Block dimensions and tile dimensions of a shape as a kernel writes it (``par_dim`` marks the partitions)."""
    items = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    kinds = list(map(type, items))
    at = kinds.index(ParDim) if on_chip and ParDim in kinds else 0
    sizes = tuple(map(int, items))
    return sizes[:at], sizes[at:]
