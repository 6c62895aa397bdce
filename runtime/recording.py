"""Launches of kernels, written down while a user's own program runs (``nki-migrate record``).

A directory named by the environment collects one JSON file for each launch that ended well, and one ``.npy`` file for
each array whose numbers matter: integers (they may be indices), numbers that are not finite, and those with a few
values only (masks). Other data are described by a distribution with the same range, to be made again from a seed.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import itertools
import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from .memory import Array
from .numerics import DTYPES, NAMED_TYPES, is_integer
from .packed import type_name
from .spec.hardware import Target

DIRECTORY = "NKI_MIGRATE_RECORD"
"""Environment variable: where to write; nothing is recorded without it."""
KEEP_DATA = "NKI_MIGRATE_RECORD_DATA"
"""Environment variable: keep the numbers of every array."""
_FEW = 16
"""An array with at most so many different values is kept as it is."""
_SAMPLE = 4096
_count = itertools.count()


@contextmanager
def launched(
    function: Callable[..., Any], arguments: Mapping[str, Any], grid: tuple[int, ...], target: Target, *, writes: bool
) -> Iterator[None]:
    """Record the launch of ``function`` in the block, if it ends well.

    ``writes``: may the kernel write to its arguments? An array that changes is then an output parameter.
    """
    directory = os.environ.get(DIRECTORY)
    if not directory:
        yield
        return
    record = {
        "file": os.path.abspath(inspect.unwrap(function).__code__.co_filename),
        "kernel": _module_name(function),
        "function": function.__name__,
        "grid": [int(extent) for extent in grid],
        "hardware": target.name,
        "args": {name: _described(value, Path(directory), function) for name, value in _each(function, arguments)},
    }
    earlier = {name: value.tobytes() for name, value in arguments.items() if writes and isinstance(value, np.ndarray)}
    yield
    for name, data in earlier.items():
        if arguments[name].tobytes() != data:
            shape, dtype = list(arguments[name].shape), arguments[name].dtype.name
            record["args"][name] = {"shape": shape, "dtype": dtype, "output": True}
    path = Path(directory) / f"{os.getpid()}-{next(_count):06}.json"
    path.with_suffix(".tmp").write_text(json.dumps(record))
    path.with_suffix(".tmp").rename(path)


def _each(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The arguments by name, those that ``**kwargs`` caught among them."""
    parameters = inspect.signature(function).parameters
    for name, value in arguments.items():
        if name in parameters and parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            yield from value.items()
        else:
            yield name, value


def _module_name(function: Callable[..., Any]) -> str:
    """The name of the kernel that its module made of ``function``; empty when there is none."""
    for name, value in list(getattr(function, "__globals__", {}).items()):
        if getattr(value, "func", None) is function and not isinstance(value, type):
            return str(name)
    return ""


def _described(value: Any, directory: Path, function: Callable[..., Any]) -> Any:
    """An argument of ``function`` as a case says it; ``{"unsupported": type}`` for what no case can say."""
    if hasattr(value, "__array__") and not isinstance(value, (np.ndarray, np.generic)):
        value = np.asarray(value)
    if isinstance(value, np.ndarray):
        return _tensor(value, directory)
    if value is None:
        return {"none": True}
    if isinstance(value, np.generic):
        value = value.item()
    dtype = _dtype_name(value)
    if dtype:
        return {"dtype": dtype}
    if type(value) in (bool, int, str) or (type(value) is float and math.isfinite(value)):
        return value
    if type(value) in (list, tuple):
        items = [_described(item, directory, function) for item in value]
        return {"tuple": items} if isinstance(value, tuple) else items
    return _object(value, directory, function) or {"unsupported": type(value).__name__}


def _object(value: Any, directory: Path, function: Callable[..., Any]) -> dict[str, Any] | None:
    """A member of an enumeration, or an object that its class makes of its fields; ``None`` for any other."""
    cls = type(value)
    name = _class_name(cls, function)
    if name and isinstance(value, Enum):
        return {"member": f"{name}.{value.name}"}
    fields = _fields(value)
    if not name or fields is None or repr(cls(**fields)) != repr(value):
        return None
    return {"object": name, "args": {key: _described(item, directory, function) for key, item in fields.items()}}


def _fields(value: Any) -> dict[str, Any] | None:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return dict(zip(value._fields, value, strict=True))
    return None


def _class_name(cls: type, function: Callable[..., Any]) -> str:
    """How a case names a class: as the kernel's module does, else by its own module; empty for one that has no name."""
    for name, known in list(getattr(function, "__globals__", {}).items()):
        if known is cls:
            return str(name)
    module = sys.modules.get(cls.__module__)
    known = getattr(module, cls.__name__, None) if cls.__module__ != "__main__" else None
    return f"{cls.__module__}:{cls.__name__}" if known is cls else ""


def _dtype_name(value: Any) -> str:
    if isinstance(value, (np.dtype, type)):
        try:
            name = type_name(np.dtype(value))
        except TypeError:
            return ""
        return name if name in NAMED_TYPES and (isinstance(value, np.dtype) or issubclass(value, np.generic)) else ""
    for module in ("neuronxcc.nki.language", "nki.language"):
        language = sys.modules.get(module)
        for name in NAMED_TYPES if language is not None else ():
            if vars(language).get(name) is value:
                return name
    return ""


# --- arrays ----------------------------------------------------------------------------------------------------------


def _tensor(array: Array, directory: Path) -> dict[str, Any]:
    facts: dict[str, Any] = {"shape": list(array.shape), "dtype": array.dtype.name}
    if array.dtype.name not in DTYPES:
        return {"unsupported": f"array of {array.dtype.name}"}
    if os.environ.get(KEEP_DATA):
        return {**facts, "fill": _kept(array, directory)}
    if not array.any():
        return {**facts, "fill": "zeros"}
    if is_integer(array.dtype) or array.dtype.kind == "b" or _is_particular(array):
        return {**facts, "fill": _kept(array, directory)}
    return {**facts, **_distribution(array.astype(np.float32))}


def _is_particular(array: Array) -> bool:
    """Are its numbers not finite, or a few different ones only?"""
    values = array.astype(np.float32).ravel()
    if not np.isfinite(values).all():
        return True
    return len(np.unique(values[:_SAMPLE])) <= min(_FEW, values.size - 1) and len(np.unique(values)) <= _FEW


def _distribution(values: Array) -> dict[str, Any]:
    low, high = float(values.min()), float(values.max())
    if low < 0 < high and max(-low, high) < 8 and 0.3 < float(values.std()) < 3:
        return {"fill": "normal"}
    return {"fill": "uniform", "low": _rounded(low, math.floor), "high": _rounded(high, math.ceil)}


def _rounded(value: float, towards: Callable[[float], int]) -> float:
    """``value`` with two digits, away from the range's inside."""
    if not value:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(abs(value))) - 1)
    return float(f"{towards(value / unit) * unit:.3g}")


def _kept(array: Array, directory: Path) -> str:
    """Store the array under the digest of its content; the name of the file."""
    data = np.ascontiguousarray(array)
    digest = hashlib.sha256(repr((array.shape, array.dtype.name)).encode() + data.tobytes()).hexdigest()[:16]
    path = directory / f"{digest}.npy"
    if not path.exists():
        np.save(path, data, allow_pickle=False)
    return path.name
