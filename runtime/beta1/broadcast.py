"""A broadcast over partitions: no stride repeats a partition, its elements are copied."""

from __future__ import annotations

from typing import Any

from . import movement
from .declarations import ndarray
from .regions import region
from .state import state
from .tensor import Tile

QUADRANT = 32
"""Partitions that the stream shuffle works on at a time."""


def spread_rows(x: Tile, shape: tuple[int, ...]) -> Tile | None:
    """A tile of one partition copied to all partitions of a tile of ``shape``; ``None`` where that is one step."""
    alike = len(shape) == x.ndim > 1 and all(own in (1, n) for own, n in zip(x.shape[1:], shape[1:], strict=True))
    if not alike or x.space == "hbm" or x.shape[0] != 1 or shape[0] == 1 or in_one_step(None, x):
        return None
    source = movement.tensor_copy(x) if x.space == "psum" else x
    if source.shape[1:] != shape[1:]:
        source = source.broadcast_to((1, *shape[1:]))
    result: Tile = ndarray(shape, source.dtype).as_tile()
    for first in range(0, shape[0], QUADRANT):
        rows = result[first : min(first + QUADRANT, shape[0]), ...]
        movement.nc_stream_shuffle(source, rows, [0] * QUADRANT)
    return result


def in_one_step(mask: Any, *operands: Any) -> bool:
    """Is what several instructions compute one step: under a mask, and in kernels without tiles in between?"""
    restricted = any(isinstance(o, Tile) and (o.restriction is not None or o.space == "hbm") for o in operands)
    return mask is not None or restricted or state().allocated


def row_by_row_in_one_step(mask: Any, x: Tile) -> bool:
    """:func:`in_one_step` of what keeps the rows of ``x`` apart: a mask of rows alone holds for each part of it."""
    left = region(mask)
    is_of_rows = not left.skip and not left.residual and left.valid is None and set(left.box) <= {0}
    return not is_of_rows or in_one_step(None, x)
