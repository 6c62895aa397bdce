"""The running side of a kernel language: a port that each one fills, and the list of those that there are.

The worker, the comparison, the maps and the search know kernels by this port only. Another language brings a module
``frontend`` with a :class:`Frontend` called ``FRONTEND``, a module with a :class:`~.spec.memory.MemoryModel` called
``MODEL``, and its lines in the tables below. Front ends are imported by
name when they are first asked for: a process that runs kernels of one language does not load the others.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .spec.memories import memory_of

if TYPE_CHECKING:
    from .cases import Case
    from .compare.hazard import Hazard
    from .compare.trace import Run


@dataclass(frozen=True)
class Launch:
    """One run of a kernel: the kernel object, the module that defines it, its case, and the hardware's name.

    ``values`` are its arguments where host code launched it (:mod:`.made`), ``None`` where the case has them.
    ``is_part``: it is a function that kernels call, and gives these what it writes to its arguments.
    """

    kernel: object
    module: ModuleType
    case: Case
    hardware: str
    values: dict[str, Any] | None = None
    is_part: bool = False


@dataclass(frozen=True)
class Frontend:
    """How kernels of one dialect run.

    ``name`` is the dialect's (``beta1``), ``language`` that of the language it is a version of (``nki``). ``function``
    gives the Python function of a kernel object, ``None`` for any object that is not a kernel of this dialect.
    ``is_part`` tells kernels that are only called from others. ``launch`` runs one case and returns its outputs and
    its record; user errors are :class:`~.errors.KernelError`, what is not modelled :class:`~.errors.NotModelled`, a
    case that does not fit :class:`~.cases.CaseError`. ``hazards`` finds what is wrong with a record.
    """

    name: str
    language: str
    function: Callable[[object], Callable[..., object] | None]
    is_part: Callable[[object], bool]
    launch: Callable[[Launch], Run]
    hazards: Callable[[Run, str], Sequence[Hazard]]


__all__ = ["JIT", "PROVIDERS", "Frontend", "Launch", "frontend", "frontends", "memory_of"]

_HOMES = {
    "beta1": "nki_migrate.runtime.beta1.frontend",
    "beta2": "nki_migrate.runtime.beta2.frontend",
    "ascend": "nki_migrate.runtime.ascend.frontend",
    "tilelang": "nki_migrate.runtime.tilelang.frontend",
}
"""The module of each dialect's :class:`Frontend`."""

_DIALECTS = {"nki": ("beta1", "beta2"), "ascend": ("ascend",), "tilelang": ("tilelang",)}
"""The dialects of each language: a file of the language may have kernels of any of them."""

PROVIDERS: Mapping[str, Mapping[str, str]] = {
    "nki": {
        "neuronxcc": "nki_migrate.runtime.beta1.modules",
        "nki": "nki_migrate.runtime.beta2.modules",
        "nkilib": "nki_migrate.runtime.nkilib.modules",
    },
    "ascend": {"tilelang": "nki_migrate.runtime.ascend.modules"},
    "tilelang": {"tilelang": "nki_migrate.runtime.tilelang.modules"},
}
"""For each language the top-level packages that its emulator stands in for, and the modules whose ``MODULES`` do."""


_TILELANG_JIT = "T.prim_func or tilelang.jit"
JIT: Mapping[str, str] = {"nki": "nki.jit", "ascend": _TILELANG_JIT, "tilelang": _TILELANG_JIT}
"""What makes a function a kernel, for messages."""


@cache
def frontend(dialect: str) -> Frontend:
    """The front end of ``dialect``."""
    found: Frontend = importlib.import_module(_HOMES[dialect]).FRONTEND
    return found


def frontends(language: str) -> tuple[Frontend, ...]:
    """The front ends of all dialects of ``language``."""
    return tuple(map(frontend, _DIALECTS[language]))
