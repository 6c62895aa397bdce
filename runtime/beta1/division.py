"""Divisions of whole numbers, which are several instructions: a quotient, and a correction by what it leaves."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..numerics import FLOAT32, is_integer
from . import vector
from .broadcast import in_one_step
from .tensor import Tile


def quotient(x: Any, y: Any, dtype: Any) -> Tile | None:
    """A division of whole numbers; ``None`` for any other, and where it is one step."""
    if not is_whole(x, y) or in_one_step(None, x) or not is_integer(dtype):
        return None
    return floor_divided(x, y, dtype)


def remainder(x: Any, y: Any, kind: Any, dtype: Any) -> Tile | None:
    """``x - y * floor(x / y)`` of whole numbers of the type ``kind``; ``None`` where it is one step."""
    if not is_whole(x, y) or in_one_step(None, x) or not is_integer(kind):
        return None
    return rest_of(floor_divided(x, y, kind), x, y, dtype)


def is_whole(x: Any, y: Any) -> bool:
    """Is ``x`` a tile of integers, and ``y`` a positive Python integer?"""
    number = isinstance(y, int | np.integer) and not isinstance(y, bool) and y > 0
    return bool(number) and isinstance(x, Tile) and is_integer(x.dtype)


def floor_divided(x: Tile, y: int, dtype: Any) -> Tile:
    """``x // y`` of whole numbers below 2**24: a rounded quotient, corrected by what it leaves."""
    rounded = vector.tensor_scalar(x, np.multiply, 1.0 / y, dtype=np.int32)
    rest = rest_of(rounded, x, y, FLOAT32)
    below = vector.tensor_scalar(rest, np.less, 0.0, dtype=FLOAT32)
    step = vector.scalar_tensor_tensor(
        data=rest, op0=np.greater_equal, operand0=y, op1=np.subtract, operand1=below, dtype=FLOAT32
    )
    return vector.tensor_tensor(rounded, step, np.add, dtype=dtype)


def rest_of(number: Tile, x: Tile, y: int, dtype: Any) -> Tile:
    """``x - number * y``."""
    return vector.scalar_tensor_tensor(
        data=number, op0=np.multiply, operand0=-1 * y, op1=np.add, operand1=x, dtype=dtype
    )
