"""Stand-ins for a kernel language's packages: importable while installed, gone without a trace afterwards.

For NKI these are ``neuronxcc``, ``nki`` and ``nkilib`` (:data:`~.dialect.PROVIDERS`). Only the packages of one language
are answered at a time. Each offers ``MODULES``, a mapping from a dotted name to the module that
stands there. A module under one of the roots that no dialect offers is a private one: it imports, and whatever is taken
from it is a :class:`~.absent.Placeholder`. So a file that needs a private API in one function still gives its others.
"""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from .absent import private
from .dialect import PROVIDERS
from .spec.beta1 import STRAY_MODULES

ROOTS = tuple(dict.fromkeys(root for roots in PROVIDERS.values() for root in roots))
_PRIVATE = (
    "neuronxcc.nki._private",
    "neuronxcc.nki._private_kernels",
    "neuronxcc.nki._pre_prod_kernels",
    "neuronxcc.nki._pre_prod_nkl",
    "neuronxcc.nki._private_nkl",
    "neuronxcc.nki.compiler.backends",
    "neuronxcc.nki.docs",
    "neuronxcc.nki.kernels",
    "neuronxcc.nki.language.iterators",
    "neuronxcc.nki.nccl",
    "neuronxcc.starfish",
    "nki._private",
    "nki._private_kernels",
    "nki._pre_prod_kernels",
)
"""Parts of the vendor's packages without public documentation (``reference/beta1.md`` 1.2)."""
LOGGING_OFF = logging.CRITICAL + 10
"""``logging.OFF``, which importing ``neuronxcc`` leaves behind and public programs set loggers to. Its number is not
documented: what counts is that no message has a higher one."""
_PRIVATE_NAMES = ("neuronxcc.nki.language.sync_program",)


class PrivateModule(ModuleType):
    """A private module: any attribute can be imported from it, none can be used."""

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return private(f"{self.__name__}.{attribute}")


class _Finder(MetaPathFinder, Loader):
    """Answers imports of the packages that are stood in for."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        root = fullname.partition(".")[0]
        if root not in PROVIDERS[_language] or (root == "nkilib" and _is_installed("nkilib")):
            return None
        if _module(fullname) is None:
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return _module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to execute: the dialects built it. ``neuronxcc`` gives Python's ``logging`` a level more."""
        if module.__name__ == "neuronxcc" and not hasattr(logging, "OFF"):
            setattr(logging, "OFF", LOGGING_OFF)  # noqa: B010


def _is_installed(root: str) -> bool:
    return PathFinder.find_spec(root) is not None


def _module(fullname: str) -> ModuleType | None:
    asked = STRAY_MODULES.get(fullname, fullname)
    offered = provided(asked.partition(".")[0]).get(asked)
    if offered is None and fullname.startswith(tuple(f"{p}." for p in _PRIVATE) + _PRIVATE):
        return PrivateModule(fullname)
    return offered


def provided(root: str) -> Mapping[str, ModuleType]:
    """The modules that stand in for the package ``root``, by dotted name."""
    modules: Mapping[str, ModuleType] = importlib.import_module(PROVIDERS[_language][root]).MODULES
    return modules


def offered(language: str) -> Mapping[str, object]:
    """What the emulator knows of packages that are not ``language``'s own, by the full name."""
    known: Mapping[str, object] = importlib.import_module(PROVIDERS["nki"]["neuronxcc"]).OFFERED
    return known if language == "nki" else {}


_FINDER = _Finder()
_displaced: dict[str, ModuleType] | None = None
_language = "nki"


def is_stand_in(module: ModuleType) -> bool:
    """Was ``module`` imported as one of the stand-ins?"""
    return getattr(module, "__loader__", None) is _FINDER


def is_installed() -> bool:
    return _displaced is not None


def install(language: str = "nki") -> None:
    """Make the stand-ins of ``language`` importable. Loaded modules of the same names are put aside."""
    global _displaced, _language
    if _displaced is not None:
        return
    _language = language
    is_there = any(root in sys.modules for root in PROVIDERS[language])  # a worker has none: to look at all costs more
    _displaced = _take_out() if is_there else {}
    sys.meta_path.insert(0, _FINDER)


def uninstall() -> None:
    """Undo :func:`install`: the finder and every module of the packages leave, what was put aside comes back."""
    global _displaced
    if _displaced is None:
        return
    if getattr(logging, "OFF", None) is LOGGING_OFF:
        delattr(logging, "OFF")
    sys.meta_path.remove(_FINDER)
    _take_out()
    sys.modules.update(_displaced)
    _displaced = None


def _take_out() -> dict[str, ModuleType]:
    names = [name for name in sys.modules if name.partition(".")[0] in PROVIDERS[_language]]
    return {name: sys.modules.pop(name) for name in names}


@contextmanager
def installed() -> Iterator[None]:
    """The stand-ins for the duration of the block (nested blocks are one)."""
    outermost = not is_installed()
    install()
    try:
        yield
    finally:
        if outermost:
            uninstall()


def public_module(
    name: str, members: Mapping[str, Any], doc: str = "", later: Mapping[str, Any] | None = None
) -> ModuleType:
    """A module object called ``name`` with exactly ``members``; any other attribute raises and names itself.

    ``later`` are names of later versions: they can be taken, and refuse to be called in a version that has them not.
    """
    module = ModuleType(name, doc)
    module.__dict__.update(members)
    module.__dict__["__path__"] = []

    def absent(attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        if attribute.startswith("_") or f"{name}.{attribute}" in (*_PRIVATE, *_PRIVATE_NAMES):
            return private(f"{name}.{attribute}")
        if later is not None and attribute in later:
            return later[attribute]
        raise AttributeError(f"module '{name}' has no public attribute '{attribute}'")

    module.__dict__["__getattr__"] = absent
    return module


def linked(modules: dict[str, ModuleType]) -> dict[str, ModuleType]:
    """``modules``, each set as an attribute of its parent: ``nki.language`` works without an import of its own."""
    for name, module in modules.items():
        parent, _, child = name.rpartition(".")
        if parent in modules and child not in modules[parent].__dict__:
            setattr(modules[parent], child, module)
    return modules
