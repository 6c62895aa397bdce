"""The packed types of the OCP microscaling formats: four elements of 8 or 4 bits in one element of memory.

A packed type is a structured numpy type of one unsigned field, named like the ``nki.language`` type: memory moves it as
bits, and nothing computes with it by accident. Element ``i`` of the four is the ``i``-th lowest in the field.
Sources: ``nki.isa.nc_matmul_mx`` and ``quantize_mx`` of the 2.28 documentation; OCP Microscaling Formats 1.0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
FOUR = 4


@dataclass(frozen=True)
class Format:
    """``element`` is the type of each of the four, ``bits`` its width, ``largest`` and ``exponent`` its greatest finite
    value and that value's exponent."""

    element: np.dtype[Any]
    bits: int
    largest: float
    exponent: int


def _packed(name: str, field: str) -> np.dtype[Any]:
    return np.dtype([(name, field)])


FORMATS = {
    "float8_e4m3fn_x4": Format(np.dtype(ml_dtypes.float8_e4m3fn), 8, 448.0, 8),
    "float8_e5m2_x4": Format(np.dtype(ml_dtypes.float8_e5m2), 8, 57344.0, 15),
    "float4_e2m1fn_x4": Format(np.dtype(ml_dtypes.float4_e2m1fn), 4, 6.0, 2),
}
PACKED: dict[str, np.dtype[Any]] = {
    name: _packed(name, "u4" if layout.bits == 8 else "u2") for name, layout in FORMATS.items()
}
"""The numpy data type of each packed type, by its name in ``nki.language``."""


def is_packed(dtype: np.dtype[Any]) -> bool:
    return dtype.names is not None


def format_of(dtype: np.dtype[Any]) -> Format:
    """The format of a packed type."""
    assert dtype.names is not None
    return FORMATS[dtype.names[0]]


@cache
def type_name(dtype: np.dtype[Any]) -> str:
    """The name of any data type, which numpy puts together each time; it calls every packed one ``void``."""
    return dtype.names[0] if dtype.names else dtype.name


def unpack(array: Array) -> Array:
    """The elements of a packed array as fp32: a new last dimension of 4."""
    layout = format_of(array.dtype)
    field = np.ascontiguousarray(array)[array.dtype.names[0]]  # type: ignore[index]  # a structured type
    shifts = np.arange(FOUR) * layout.bits
    codes = (field[..., None] >> shifts.astype(field.dtype)) & field.dtype.type(2**layout.bits - 1)
    elements: Array = codes.astype(np.uint8).view(layout.element).astype(np.float32)
    return elements


def pack(elements: Array, dtype: np.dtype[Any]) -> Array:
    """The inverse of :func:`unpack` for fp32 ``elements`` (..., 4); they are rounded to nearest even."""
    layout = format_of(dtype)
    codes = elements.astype(layout.element).view(np.uint8).astype(np.uint32) & np.uint32(2**layout.bits - 1)
    field = np.bitwise_or.reduce(codes << (np.arange(FOUR, dtype=np.uint32) * layout.bits), axis=-1)
    packed: Array = field.astype(f"u{dtype.itemsize}").view(dtype)
    return packed
