"""The memories of every kernel language, by the language's name: data, for which no front end is loaded."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .memory import MemoryModel

_HOMES = {
    "nki": "nki_migrate.runtime.spec.memory",
    "ascend": "nki_migrate.runtime.spec.ascend_memory",
    "tilelang": "nki_migrate.runtime.spec.tilelang_memory",
}
"""The module of each language's ``MODEL`` of its memories."""


def memory_of(language: str) -> MemoryModel:
    """The memories of ``language``."""
    found: MemoryModel = importlib.import_module(_HOMES[language]).MODEL
    return found


def hardware_names() -> tuple[str, ...]:
    """The names of all hardware of all languages."""
    return tuple(dict.fromkeys(name for language in _HOMES for name in memory_of(language).hardware))
