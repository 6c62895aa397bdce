"""Data types by name: their NumPy types, widths and joins."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

_NUMPY: dict[str, Any] = {
    **{name: np.dtype(name) for name in ("float16", "float32", "float64", "bool")},
    **{f"{sign}int{bits}": np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float8_e4m3": np.dtype(ml_dtypes.float8_e4m3fn),
    "float8_e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn),
    "float8_e5m2": np.dtype(ml_dtypes.float8_e5m2),
}
_SPELLED = {"half": "float16", "float": "float32", "double": "float64", "int": "int32", "e4m3_float8": "float8_e4m3"}
NAMES = tuple(_NUMPY)


def type_name(dtype: Any) -> str:
    """The name of a type given as text, as ``T.float32`` or as a NumPy type. Raises ``ValueError`` for another one."""
    name = getattr(dtype, "__tilelang_type__", None) or (dtype if isinstance(dtype, str) else None)
    if name is None:
        module = getattr(dtype, "__module__", "") or ""
        name = str(dtype).removeprefix("torch.") if module.startswith("torch") else np.dtype(dtype).name
    name = _SPELLED.get(name, name)
    if name not in _NUMPY:
        raise ValueError(f"{name!r} is no data type that the emulator has")
    return name


def numpy_type(name: str) -> np.dtype[Any]:
    """The NumPy type of a name that :func:`type_name` gave."""
    found: np.dtype[Any] = _NUMPY[name]
    return found


def promoted(first: str, second: str) -> str:
    """The type of an operation on two: the wider float, else the wider integer, unsigned only if both are."""
    if first == second:
        return first
    floats = [name for name in (first, second) if "float" in name]
    if len(floats) == 1:
        return floats[0]
    if floats:
        sizes = {name: numpy_type(name).itemsize for name in floats}
        widest = max(floats, key=lambda name: sizes[name])
        return widest if len(set(sizes.values())) > 1 else "float32"
    integers = [name for name in (first, second) if name != "bool"]
    if len(integers) < 2:
        return integers[0]
    widest = max(integers, key=lambda name: (numpy_type(name).itemsize, not name.startswith("u")))
    return widest


def lowest(name: str) -> Any:
    """The least number of a type."""
    return _limits(name).min


def highest(name: str) -> Any:
    """The greatest number of a type."""
    return _limits(name).max


def _limits(name: str) -> Any:
    dtype = numpy_type(name)
    limits: Any = np.iinfo if dtype.kind in "iu" else ml_dtypes.finfo
    return limits(dtype)
