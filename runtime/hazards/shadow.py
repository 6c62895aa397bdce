"""One mark for every byte of a memory, in the coarsest granules that no access divides.

A kernel's accesses mostly start and end at multiples of its tile sizes. The greatest common divisors of their starts,
strides and runs give granules of, say, 32 partitions by 1024 bytes; a memory of 27 MB then takes a few thousand marks.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from functools import lru_cache
from math import gcd
from typing import Any

import numpy as np
import numpy.typing as npt

from ..events import Operand, Step
from .accesses import size

Marks = npt.NDArray[np.int32]
NEVER = 0
_Access = tuple[int, int, tuple[Step, ...], int]
"""Partition, byte, steps and the size of an element."""
_Walk = tuple[list[int], list[tuple[int, int]], tuple[int, int]]
"""Of an array of granules: its shape, its strides in rows and columns, and its first granule."""


def grid_of(operands: Iterable[Operand]) -> Grid:
    """The granules of one memory, from all accesses to it. Many tiles of a kernel are accessed in one way."""
    return _grid(tuple(dict.fromkeys((o.partition, o.byte, o.steps, size(o)) for o in operands)))


@lru_cache(1024)
def _grid(accesses: tuple[_Access, ...]) -> Grid:
    return Grid(accesses)


def distinct(marks: Marks) -> list[int]:
    """The values of ``marks``, each once, in order. (``np.unique`` loads ``numpy.ma``, in the process of each case.)"""
    ordered = np.sort(marks, axis=None)
    is_first = np.ones(ordered.size, np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    found: list[int] = ordered[is_first].tolist()
    return found


class Grid:
    """The granules of one memory, from the different ``accesses`` to it.

    Partitions and bytes count from ``origin``, the first of either that any access touches. Accesses that walk
    backwards have no place in the grid: :meth:`holds` tells.
    """

    def __init__(self, accesses: Iterable[_Access]) -> None:
        rows = columns = 0
        height = width = 0
        forward = [access for access in accesses if _is_forward(access[2])]
        self.origin = (min((a[0] for a in forward), default=0), min((a[1] for a in forward), default=0))
        for partition, byte, steps, unit in forward:
            first = (partition - self.origin[0], byte - self.origin[1])
            row_run, run = 1, unit
            last_row, last_column = first
            rows, columns = gcd(rows, first[0]), gcd(columns, first[1])
            for partitions, step, count in steps:
                last_row += partitions * (count - 1)
                last_column += step * (count - 1)
                if (partitions, step) == (1, 0) and row_run == 1:
                    row_run = count
                elif (partitions, step) == (0, unit) and run == unit:
                    run = unit * count
                else:
                    rows, columns = gcd(rows, partitions), gcd(columns, step)
            rows, columns = gcd(rows, row_run), gcd(columns, run)
            height, width = max(height, last_row + 1), max(width, last_column + unit)
        self.granule = (max(rows, 1), max(columns, 1))
        self.shape = (height // self.granule[0], width // self.granule[1])
        self.unit = gcd(0, *(unit for *_, unit in forward)) or 1
        self._walks: dict[_Access, _Walk] = {}

    def refined(self) -> tuple[Grid, tuple[int, int]]:
        """This grid with a granule for each element, and into how many rows and columns a granule was divided."""
        fine = copy(self)
        fine._walks = {}
        fine.granule = (1, self.unit)
        factors = self.granule[0], self.granule[1] // self.unit
        fine.shape = (self.shape[0] * factors[0], self.shape[1] * factors[1])
        return fine, factors

    def holds(self, operand: Operand) -> bool:
        return _is_forward(operand.steps)

    def is_all(self, operand: Operand) -> bool:
        """Does an access cover each granule once, in order?"""
        rows, columns = self.shape
        shape, strides, first = self._walk_of(operand)
        steps = [(n, stride) for n, stride in zip(shape, strides, strict=True) if n != 1]
        return first == (0, 0) and steps == [(n, s) for n, s in ((rows, (1, 0)), (columns, (0, 1))) if n != 1]

    def marks(self) -> Marks:
        """A mark for every granule, all :data:`NEVER`."""
        return np.zeros(self.shape, np.int32)

    def view(self, marks: Marks, operand: Operand) -> Marks:
        """The marks of the granules that an access covers, as an array that can be written."""
        shape, strides, offset = self._walk_of(operand)
        pitch, item = marks.strides
        found: Marks = np.ndarray(
            shape, np.int32, marks, offset[0] * pitch + offset[1] * item, [r * pitch + c * item for r, c in strides]
        )
        return found

    def elements(self, marks: Marks, operand: Operand) -> Marks:
        """The mark of every element of an access, in row-major order (a copy)."""
        found: Marks = marks[self.coordinates(operand)]
        return found

    def coordinates(self, operand: Operand) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Row and column of the granule of every element of an access, in row-major order."""
        first = operand.partition - self.origin[0], operand.byte - self.origin[1]
        return _coordinates(*first, operand.steps, self.granule)

    def _walk_of(self, operand: Operand) -> _Walk:
        access = (operand.partition, operand.byte, operand.steps, size(operand))
        walk = self._walks.get(access)
        if walk is None:
            walk = self._walks[access] = self._walk(operand)
        return walk

    def _walk(self, operand: Operand) -> _Walk:
        rows, columns = self.granule
        unit = size(operand)
        shape: list[int] = []
        strides: list[tuple[int, int]] = []
        tall = wide = False
        for partitions, step, count in operand.steps:
            if (partitions, step) == (1, 0) and not tall:
                tall = True
                shape.append(count // rows)
                strides.append((1, 0))
            elif (partitions, step) == (0, unit) and not wide:
                wide = True
                shape.append(unit * count // columns)
                strides.append((0, 1))
            elif partitions or step:
                shape.append(count)
                strides.append((partitions // rows, step // columns))
        if not wide:
            shape.append(unit // columns)
            strides.append((0, 1))
        first = (operand.partition - self.origin[0]) // rows, (operand.byte - self.origin[1]) // columns
        return shape, strides, first


@lru_cache(64)
def _coordinates(
    partition: int, byte: int, steps: tuple[Step, ...], granule: tuple[int, int]
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Row and column of the granule of every element; the blocks of a tensor are mostly accessed alike."""
    row: npt.NDArray[Any] = np.asarray([partition])
    column: npt.NDArray[Any] = np.asarray([byte])
    for partitions, step, count in steps:
        walk = np.arange(count)
        row = (row[:, None] + walk * partitions).reshape(-1)
        column = (column[:, None] + walk * step).reshape(-1)
    rows, columns = row // granule[0], column // granule[1]
    for found in (rows, columns):
        found.flags.writeable = False
    return rows, columns


@lru_cache(4096)
def _is_forward(steps: tuple[Step, ...]) -> bool:
    """Strides that point backwards are recorded modulo the pitch of the memory, with a partition less."""
    return all(partitions >= 0 and step >= 0 for partitions, step, _ in steps)
