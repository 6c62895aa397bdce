"""The packages that the emulator stands in for while kernels of TileLang run."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from ..errors import NotModelled
from ..spec.tilelang import LATEST, NAMES
from .language import PrimFunc
from .members import MEMBERS


class Factory:
    """A function under ``tilelang.jit``: it makes a kernel of its arguments."""

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func
        self.__wrapped__ = func

    @property
    def options(self) -> dict[str, Any]:
        return {}

    def __call__(self, *args: Any, **kwargs: Any) -> PrimFunc:
        made = self.func(*args, **kwargs)
        if not isinstance(made, PrimFunc):
            raise NotModelled("a kernel under tilelang.jit that returns no prim_func")
        return made


def jit(func: Any = None, **_: Any) -> Any:
    """``tilelang.jit``, with or without options."""
    if func is None:
        return Factory
    return func if isinstance(func, PrimFunc) else Factory(func)


class Absent:
    """A name of the language that the emulator has no meaning for. Its use raises :class:`NotModelled`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotModelled(self._name)

    def __getattr__(self, name: str) -> Absent:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self._name}.{name}")


class _Module(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self.__name__}.{name}")


def _module(name: str, members: dict[str, Any]) -> ModuleType:
    made = _Module(name)
    made.__dict__.update(members)
    made.__path__ = []
    return made


def _modules() -> dict[str, ModuleType]:
    made = {
        "tilelang": _module("tilelang", {"jit": jit, "__version__": LATEST, "cdiv": MEMBERS["cdiv"]}),
        "tilelang.language": _module("tilelang.language", MEMBERS),
        "tilelang.language.allocate": _module("tilelang.language.allocate", MEMBERS),
    }
    for kind in ("cuda", "cpu", "rocm", "metal"):
        made[f"tilelang.{kind}"] = _module(f"tilelang.{kind}", {})
        made[f"tilelang.{kind}.language"] = _module(f"tilelang.{kind}.language", MEMBERS)
    made["tilelang.language"].__dict__["__all__"] = sorted(set(MEMBERS) & set(NAMES))
    for name, module in made.items():
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(made[parent], last, module)
    return made


MODULES: dict[str, ModuleType] = _modules()
"""Dotted name -> module."""
