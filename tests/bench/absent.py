"""Packages that kernel files import, that the kernels in them do not compute with, and that are not installed here."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

ABSENT = ("jax", "loguru", "scipy", "torch", "torch_neuronx", "torch_xla", "transformers")


def stand_in(*names: str) -> None:
    """Make ``names`` modules whose every attribute exists, and every module below them."""
    for name in names:
        sys.modules[name] = _Empty(name)
    if not any(isinstance(finder, _BelowEmpty) for finder in sys.meta_path):
        sys.meta_path.insert(0, _BelowEmpty())


def missing() -> list[str]:
    """Those of :data:`ABSENT` that are not installed."""
    return [name for name in ABSENT if importlib.util.find_spec(name) is None]


def packages_in(folder: Path) -> None:
    """Files for ``PYTHONPATH`` that stand in for what is missing, in processes that others start."""
    for name in missing():
        lines = "import sys", f"sys.path.append({str(Path(__file__).parent)!r})", "import absent"
        text = "\n".join([*lines, f"absent.stand_in({name!r})\n"])
        (folder / f"{name}.py").write_text(text)


class _Empty(ModuleType):
    """A module whose every attribute exists: a decorator that changes nothing, and a class."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "nki_jit":
            return importlib.import_module("neuronxcc.nki").jit
        return type(name, (), {})


class _BelowEmpty(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers imports below an empty module."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        root = sys.modules.get(fullname.partition(".")[0])
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True) if isinstance(root, _Empty) else None

    def create_module(self, spec: Any) -> ModuleType:
        return _Empty(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to execute."""
