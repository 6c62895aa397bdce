"""The data of a case's tensors, generated from a seed and a name: the same in every process and every order."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from .numerics import convert, is_integer

Array = npt.NDArray[Any]
FILLS = ("normal", "uniform", "zeros", "arange", "integers")


def generator(seed: int, name: str) -> np.random.Generator:
    """A random generator for the argument ``name``: SHA-256 of both, so that neighbouring seeds are unrelated."""
    digest = hashlib.sha256(f"{seed}:{name}".encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "big")))


def filled(
    fill: str,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    *,
    seed: int,
    name: str,
    low: float | None = None,
    high: float | None = None,
) -> Array:
    """An array of ``shape`` and ``dtype``. ``fill`` is one of :data:`FILLS` or the path of a ``.npy`` file."""
    if fill.endswith(".npy"):
        return stored_array(Path(fill), dtype)
    if fill == "zeros":
        return np.zeros(shape, dtype)
    if fill == "arange":
        counted: Array = np.arange(int(np.prod(shape)), dtype=np.int64) % exact_integers(dtype)
        return counted.astype(dtype).reshape(shape)
    random = generator(seed, name)
    if fill == "normal":
        return convert(random.standard_normal(shape, np.float32), dtype)
    if fill == "uniform":
        first, last = (0.0 if low is None else low), (1.0 if high is None else high)
        return convert(random.uniform(first, last, shape).astype(np.float32), dtype)
    start, stop = integer_bounds(dtype, low, high)
    return convert(random.integers(start, stop, shape, dtype=np.int64), dtype)


def exact_integers(dtype: np.dtype[Any]) -> int:
    """How many integers, from 0 on, ``dtype`` holds exactly."""
    if dtype.kind == "b":
        return 2
    if is_integer(dtype):
        return int(np.iinfo(dtype).max) + 1
    return int(2 ** (_mantissa_bits(dtype) + 1))


def _mantissa_bits(dtype: np.dtype[Any]) -> int:
    finfo: Any = ml_dtypes.finfo
    return int(finfo(dtype).nmant)


def integer_bounds(dtype: np.dtype[Any], low: float | None, high: float | None) -> tuple[int, int]:
    unsigned = dtype.kind in "ub"
    first = (0 if unsigned else -8) if low is None else int(low)
    last = (2 if dtype.kind == "b" else 16 if unsigned else 8) if high is None else int(high)
    return first, last


def fill_problem(fill: str, dtype: np.dtype[Any], low: Any, high: Any) -> str | None:
    """Why ``fill`` cannot fill a tensor of ``dtype``, or ``None``."""
    bounded = fill in ("uniform", "integers")
    for key, bound in (("low", low), ("high", high)):
        if bound is None:
            continue
        if not bounded:
            return f"'{key}' has no meaning for fill '{fill}': it belongs to 'uniform' and 'integers'"
        if isinstance(bound, bool) or not isinstance(bound, (int, float)):
            return f"{key} = {bound!r}: it is a number"
        if fill == "integers" and not isinstance(bound, int):
            return f"{key} = {bound!r}: it is an integer for fill 'integers'"
    if fill in ("normal", "uniform") and is_integer(dtype):
        return f"fill '{fill}' needs a floating point dtype, not {dtype.name}: use fill 'integers'"
    if fill == "uniform":
        first, last = (0.0 if low is None else low), (1.0 if high is None else high)
        return None if first < last else f"low = {first} is not below high = {last}"
    return _integer_problem(dtype, *integer_bounds(dtype, low, high)) if fill == "integers" else None


def _integer_problem(dtype: np.dtype[Any], start: int, stop: int) -> str | None:
    """Why integers from ``start`` to below ``stop`` cannot fill a tensor of ``dtype``, or ``None``."""
    if start >= stop:
        return f"low = {start} is not below high = {stop}"
    if dtype.kind == "b":
        return None if 0 <= start < stop <= 2 else "booleans are integers from 0 to 1"
    if is_integer(dtype) and (start < np.iinfo(dtype).min or stop - 1 > np.iinfo(dtype).max):
        return f"integers from {start} to {stop - 1} do not fit {dtype.name}"
    return None


def stored_array_problem(path: Path, shape: tuple[int, ...], dtype: np.dtype[Any]) -> str | None:
    """Why the ``.npy`` file cannot be a tensor of ``shape`` and ``dtype``, or ``None``; reads its header only."""
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        return f"there is no file {path}"
    except (OSError, ValueError, EOFError) as error:
        return f"{path} is not a .npy file that can be read: {error}"
    if not isinstance(found, np.ndarray):
        return f"{path} is an archive of arrays, one array (.npy) is needed"
    if found.shape != shape:
        return f"{path} has shape {list(found.shape)}, the case says {list(shape)}"
    if found.dtype != dtype and not _raw_bits(found.dtype, dtype):
        return f"{path} has dtype {found.dtype}, the case says {dtype.name}"
    return None


def stored_array(path: Path, dtype: np.dtype[Any]) -> Array:
    """The array of a ``.npy`` file, in memory and writable."""
    array: Array = np.load(path, allow_pickle=False)
    return array if array.dtype == dtype else array.view(dtype)


def _raw_bits(found: np.dtype[Any], dtype: np.dtype[Any]) -> bool:
    """``.npy`` files store the types that numpy does not know (bfloat16, float8) as raw bytes, ``|V2`` and ``|V1``."""
    return (
        found.kind == "V"
        and found.names is None
        and dtype.type.__module__ == "ml_dtypes"
        and found.itemsize == dtype.itemsize
    )
