"""The type of a result that the kernel gives none: the promotion of the types of its operands."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ..errors import KernelError, NotModelled
from ..numerics import DTYPES, is_integer
from ..spec.dtypes import promote, promote_bits, weak_type
from ..spec.operators import BITWISE, COMPARISON
from .base import Tensor

BOOLEAN = COMPARISON | {"logical_and", "logical_or", "logical_xor", "logical_not"}
_NAMES = {dtype: name for name, dtype in DTYPES.items()}


def promoted(op: str, x: Any, y: Any) -> np.dtype[Any]:
    """Default type of ``x op y``: bool for comparisons, else the promotion of both types (numbers are weak)."""
    if op in BOOLEAN:
        return DTYPES["bool_"]
    a: Any = x.dtype if isinstance(x, Tensor) else type(x)
    b: Any = y.dtype if isinstance(y, Tensor) else type(y)
    return _promoted_bits(op, a, b) if op in BITWISE else _promotion(a, b)


@cache
def _promotion(a: Any, b: Any) -> np.dtype[Any]:
    """The promotion of the types of two operands, of which a number's is a type of Python's or numpy's."""
    return DTYPES[promote(_type_name(a), _type_name(b))]


@cache
def _promoted_bits(op: str, a: Any, b: Any) -> np.dtype[Any]:
    """:func:`_promotion` for the bitwise operator ``op``."""
    if isinstance(a, type):
        a, b = b, a
    one, other = _type_name(a), _type_name(b)
    found = promote_bits(one, other, weak=isinstance(b, type))
    if found is not None:
        return DTYPES[found]
    if not (is_integer(DTYPES[one]) and is_integer(DTYPES[other])):
        raise KernelError("", f"'{op}' works on the bits of integers, its operands are {one} and {other}")
    raise NotModelled(f"the type of '{op}' of {one} and {other} without dtype=, which no document gives")


def _type_name(kind: np.dtype[Any] | type) -> str:
    if isinstance(kind, type) and not issubclass(kind, np.generic):
        return weak_type(kind)
    return _NAMES.get(np.dtype(kind)) or weak_type(np.dtype(kind).type)
