"""Number formats, in one place: what an engine reads, and how it rounds what it writes.

Engines compute in fp32 and convert on write: floating point rounds to nearest, ties to even; integers round to nearest
even and saturate (``reference/beta1.md`` 6.3, ``reference/beta2.md`` 4.5).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from .errors import KernelError
from .packed import PACKED, type_name

Array = npt.NDArray[Any]

FLOAT32 = np.dtype(np.float32)
DTYPES: dict[str, np.dtype[Any]] = {
    "bool_": np.dtype(np.bool_),
    "int8": np.dtype(np.int8),
    "uint8": np.dtype(np.uint8),
    "int16": np.dtype(np.int16),
    "uint16": np.dtype(np.uint16),
    "int32": np.dtype(np.int32),
    "uint32": np.dtype(np.uint32),
    "float16": np.dtype(np.float16),
    "float32": FLOAT32,
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float8_e4m3": np.dtype(ml_dtypes.float8_e4m3),
    "float8_e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn),
    "float8_e5m2": np.dtype(ml_dtypes.float8_e5m2),
}
"""The numpy data type of each ``nki.language`` type that the emulator models, by its name."""
SCALE_TYPE: np.dtype[Any] = np.dtype(ml_dtypes.float8_e8m0fnu)
"""``nl.float8_e8m0fnu``, the type of scales in microscaling formats: a power of two. Nothing computes with it."""
NAMED_TYPES: dict[str, np.dtype[Any]] = {**DTYPES, **PACKED, SCALE_TYPE.name: SCALE_TYPE}
"""The data type of each ``nki.language`` type, also of those that no array of the host has."""


def is_integer(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "iub"


def to_float32(array: Array) -> Array:
    """What an engine reads: every element as fp32."""
    if array.dtype is FLOAT32:
        return array
    if array.dtype.names:
        raise _packed(array.dtype)
    return array if array.dtype == FLOAT32 else array.astype(FLOAT32)


def convert(values: Array, dtype: np.dtype[Any]) -> Array:
    """``values`` as an engine would write them to memory of type ``dtype``."""
    if values.dtype == dtype:
        return values
    if values.dtype.names or dtype.names:
        raise _packed(dtype if dtype.names else values.dtype)
    if not is_integer(dtype):
        return values.astype(dtype)
    if dtype.kind == "b":
        truth: Array = values != 0
        return truth
    least, most = _limits(dtype)
    if values.dtype is FLOAT32 and _lies_within(values, least, most):
        return np.rint(values).astype(dtype)
    if is_integer(values.dtype):
        if _lies_within(values, least, most):
            return values.astype(dtype)
        clipped: Array = np.minimum(np.maximum(values.astype(np.int64), least), most).astype(dtype)
        return clipped
    rounded: Array = np.rint(values, dtype=np.float64)
    np.maximum(rounded, least, out=rounded)
    np.minimum(rounded, most, out=rounded)
    absent = np.isnan(rounded)
    if absent.any():
        rounded[absent] = 0
    return rounded.astype(dtype)


def _lies_within(values: Array, least: int, most: int) -> bool:
    """Is each element a number from ``least`` to ``most``? Two passes that copy nothing; NaN is none."""
    if not values.size:
        return False
    low, high = np.minimum.reduce(values, axis=None), np.maximum.reduce(values, axis=None)
    return bool(least <= low.item() and high.item() <= most)


@cache
def _limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    """The smallest and the largest number of an integer type."""
    limits = np.iinfo(dtype)
    return limits.min, limits.max


def _packed(dtype: np.dtype[Any]) -> KernelError:
    return KernelError(
        "",
        f"an element of type {type_name(dtype)} is four packed numbers: nki.isa.quantize_mx and nc_matmul_mx work on "
        "them, anything else can only copy them to the same type",
    )


def ulp_distance(a: Array, b: Array) -> Array:
    """Units in the last place between two arrays of one dtype, element by element (0 where both are NaN)."""
    if is_integer(a.dtype):
        return np.abs(a.astype(np.int64) - b.astype(np.int64))
    bits = a.dtype.itemsize * 8
    signed = {8: np.int8, 16: np.int16, 32: np.int32}[bits]

    def ordered(x: Array) -> Array:
        integer = np.ascontiguousarray(x).view(signed).astype(np.int64)
        return np.where(integer < 0, -(integer & ((1 << (bits - 1)) - 1)), integer)

    both_nan = np.isnan(to_float32(a)) & np.isnan(to_float32(b))
    return np.where(both_nan, 0, np.abs(ordered(a) - ordered(b)))
