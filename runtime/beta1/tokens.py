"""Names that kernels pass as values: buffers, enumerations, operators, data types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..errors import KernelError
from ..numerics import DTYPES
from ..spec.instructions import ENGINES
from ..spec.operators import canonical

Address = tuple[int, int]
"""(start partition, byte in the partition)."""
AddressOf = Callable[[tuple[int, ...], int, int], Address]
"""Address of a logical tile from its block index, its partitions and its bytes in a partition."""


@dataclass(frozen=True, eq=False)
class Buffer:
    """Where a tensor lives. ``address_of`` is set for direct allocation. Compared by identity, as kernels do."""

    space: str
    name: str
    address_of: AddressOf | None = None

    def __repr__(self) -> str:
        return f"nl.{self.name}"


SBUF = Buffer("sbuf", "sbuf")
PSUM = Buffer("psum", "psum")
PRIVATE_HBM = Buffer("hbm", "private_hbm")
SHARED_HBM = Buffer("hbm", "shared_hbm")


FP32 = SimpleNamespace(min=float(np.finfo(np.float32).min))
"""``nl.fp32``."""
BFP16 = SimpleNamespace(min=float("-inf"))
"""``nl.bfp16``; the documented bit pattern 0xff80 of its minimum is minus infinity."""


class Engine(IntEnum):
    """Compute engines; they never change a result here."""

    unknown = 0
    tensor = 1
    scalar = 2
    gpsimd = 3
    dma = 4
    vector = 5
    sync = 6


_UNKNOWN = Engine.unknown
"""Asked for in each instruction that takes an engine: Python 3.11 takes long to find a member, or its name."""


def engine_name(engine: Any) -> str:
    """The engine of the table of instructions that a kernel chooses; empty where it leaves that to the compiler."""
    if engine is _UNKNOWN:
        return ""
    name = getattr(engine, "name", "")
    return name if name in ENGINES else ""


def engine_of(value: Any) -> Engine:
    """The engine that a kernel means: a member, its number, or nothing."""
    return Engine.unknown if value is None else Engine(value)


class ReduceCmd(IntEnum):
    """What an accumulating instruction does with the accumulator registers."""

    idle = 0
    reset = 1
    reduce = 2
    reset_reduce = 3


class OobMode(IntEnum):
    """Out-of-bound rows of an indirect access: an error, or left alone."""

    error = 0
    skip = 1


class DgeMode(IntEnum):
    none = 0
    swdge = 1
    hwdge = 2
    unknown = 3


class NcVersion(IntEnum):
    gen2 = 2
    gen3 = 3
    gen4 = 4


def operator_token(op: Any) -> str:
    """The canonical name of an operator: ``nl.add``, ``np.add`` and ``np.sum`` are ``add``."""
    if isinstance(op, np.ufunc):
        return _of_ufunc(op)
    name = getattr(op, "__name__", None)
    if not isinstance(name, str) or not callable(op):
        raise KernelError("", f"expecting an operator such as nl.add or np.add, got {op!r}")
    return canonical(name)


@cache
def _of_ufunc(op: np.ufunc) -> str:
    return canonical(op.__name__)


def dtype_of(dtype: Any) -> np.dtype[Any]:
    """The data type that a kernel means by ``dtype``: an ``nl`` type, a numpy type, or its name."""
    if id(dtype) in _BY_ID:
        return _BY_ID[id(dtype)]
    if isinstance(dtype, str) and dtype in DTYPES:
        return DTYPES[dtype]
    try:
        found: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        raise KernelError("", f"{dtype!r} is not a data type") from None
    if found not in _KNOWN:
        raise KernelError("", f"data type {found} is not supported by NKI")
    return found


_KNOWN = frozenset(DTYPES.values())
_BY_ID = {id(known): known for known in DTYPES.values()}
"""For the data types themselves: their hash is slow."""


class ParDim(int):
    """``par_dim(n)``: the extent ``n``, marked as the partition dimension of a shape."""

    def __repr__(self) -> str:
        return f"par_dim({int(self)})"


@dataclass(frozen=True)
class Slice:
    """``nl.ds(start, size)``."""

    start: Any
    size: int
