"""Divisions, and how a kernel would compute that has a reciprocal and a multiplication in their place (rule NKI022).

The old kernel runs so once more where the outputs of the new one are not the same bits: equal bits then say that the
rounding of its quotients is all that sets the two apart. An inverse of a tile is rounded to fp32, one of a number is
computed by Python and rounded to fp32 after: what the rule writes.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

import numpy as np

from ..memory import Array
from ..numerics import FLOAT32
from ..switches import Switch

_BY_RECIPROCAL = Switch()


def by_reciprocal(wanted: bool = True) -> AbstractContextManager[None]:
    """Within, a quotient is the product with the inverse of the divisor, if that is ``wanted``."""
    return _BY_RECIPROCAL.turned(wanted)


def quotient(a: Array, b: Array) -> Array:
    """``a / b`` in fp32."""
    result: Array = np.multiply(a, FLOAT32.type(1) / b) if _BY_RECIPROCAL.is_on else np.divide(a, b)
    return result


def inverse(divisor: float) -> np.float32 | None:
    """What an element is multiplied by that is divided by a number; ``None`` where it is divided."""
    return np.float32(1.0 / divisor) if _BY_RECIPROCAL.is_on and divisor else None
