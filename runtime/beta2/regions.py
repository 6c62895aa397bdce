"""Regions of memory: their addresses and sizes, and arrays on them."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..memory import Allocation, Array, row_major_strides


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
