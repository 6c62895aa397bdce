"""Packages that kernels import, as far as the gatherer cares: modules with names in them, and nothing behind the names.

The gatherer looks at the objects that names stand for. Functions and classes it would follow, so the names of NKI are opaque
here, except for what it must tell apart: modules, enumerations, ``NKIObject``, ``nki.jit``.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable
from enum import Enum
from types import FunctionType, ModuleType
from typing import Any

ROOTS = (
    "nki",
    "neuronxcc",
    "torch_neuronx",
    "torch_xla",
    "torch",
    "jax",
    "jaxlib",
    "nkipy",
    "libneuronxla",
    "scipy",
    "pytest",
    "loguru",
)
SUBMODULES = "nki isa language typing compiler tensor meta collectives constants nccl nn functional".split()
KERNELS: list[FunctionType] = []
"""Functions that were decorated with ``nki.jit`` or one of Beta 1's own decorators."""


class Opaque:
    """A name without anything the gatherer would follow. Host code may do whatever it likes with it."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return args[0] if len(args) == 1 and callable(args[0]) and not kwargs else self

    def __getitem__(self, key: Any) -> Any:
        return self

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (object,)

    def __or__(self, other: Any) -> Any:
        return self

    __ror__ = __or__


OPAQUE = Opaque()


class NKIObject:
    """The base class of kernel classes."""


def jit(function: FunctionType | None = None, **options: Any) -> Any:
    if function is None:
        return jit
    if isinstance(function, FunctionType) and function not in KERNELS:
        KERNELS.append(function)
    return function


def _members() -> dict[str, Any]:
    named = {"NKIObject": NKIObject}
    named |= dict.fromkeys(("jit", "trace", "baremetal", "benchmark", "profile"), jit)
    for name in ("dge_mode", "engine", "nc_version", "oob_mode", "reduce_cmd", "matmul_perf_mode", "dma_engine"):
        named[name] = Enum(
            name, "unknown none idle error skip gen2 gen3 gen4 hwdge swdge tensor vector scalar gpsimd reset_reduce"
        )
    return named


class _World(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] in ROOTS:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = ModuleType(spec.name)
        is_nki = spec.name.partition(".")[0] in ("nki", "neuronxcc")
        module.__dict__.update(_members() if is_nki else {})
        module.__dict__["__getattr__"] = lambda member: _member(spec.name, member)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to execute."""


def _member(module: str, name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return importlib.import_module(f"{module}.{name}") if name in SUBMODULES else OPAQUE


def install() -> Callable[[], None]:
    """Make the packages importable; the result undoes it."""
    finder = _World()
    sys.meta_path.insert(0, finder)
    return lambda: sys.meta_path.remove(finder)
