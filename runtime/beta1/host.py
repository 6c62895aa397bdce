"""What a program of the host may call a kernel with: arrays of its framework, or the description of one."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..host import framework_array, framework_of, returner
from ..memory import Array
from .typing import TensorSpec

__all__ = ["as_array", "framework_of", "returner"]


def as_array(value: Any) -> Array | None:
    """``value`` as a numpy array, sharing memory where the framework allows it; ``None`` when it is no array.

    ``nt.tensor[shape, dtype]`` describes an argument whose values do not matter (``nki.benchmark``): zeros.
    """
    if isinstance(value, TensorSpec):
        return np.zeros(value.shape, value.dtype)
    return framework_array(value)
