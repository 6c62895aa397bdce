"""How the operands of an instruction fit together: shapes, partitions, steps of 0."""

from __future__ import annotations

from math import prod

import numpy as np

from ..errors import KernelError
from ..memory import View
from .indexing import broadcast
from .tensor import Tile


def alike(a: View, b: View) -> tuple[View, View]:
    """Two operands with one shape: dimensions of 1 are read with a step of 0."""
    if a.array.shape == b.array.shape:
        return a, b
    common = broadcast(a.array.shape, b.array.shape)
    return a.reading(np.broadcast_to(a.array, common)), b.reading(np.broadcast_to(b.array, common))


def over(vector: View, other: View) -> View:
    """An operand of one element a partition with the shape of another operand: read with steps of 0."""
    index = (slice(None), *(0 for _ in vector.array.shape[1:]), *(None for _ in other.array.shape[1:]))
    column = vector.array[index]
    return vector.reading(np.broadcast_to(column, (column.shape[0], *other.array.shape[1:])))


def is_vector(tile: Tile) -> bool:
    """Has the tile one element a partition?"""
    return prod(tile.shape[1:]) == 1


def mismatch(op: str, *operands: tuple[str, Tile]) -> KernelError:
    shown = ", ".join(f"{role}{list(tile.shape)}" for role, tile in operands)
    return KernelError(
        "err_num_partition_mismatch",
        f"number of partitions (dimension 0 size of a tile) mismatch in parameters ({shown}) of '{op}'",
    )
