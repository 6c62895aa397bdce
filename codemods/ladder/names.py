"""What names of a file mean in NKI: imports and aliases resolved to qualified names, and spelled again."""

from __future__ import annotations

from collections.abc import Container

from nki_migrate.runtime.spec import beta2

from ..project.kernel_code import Naming
from ..syntax.name_scopes import Star
from ..syntax.names import BETA2, Import

ROOT = "nki"
LANGUAGE, ISA, COLLECTIVES = "nki.language.", "nki.isa.", "nki.collectives."
_ROOTS = {module: root for root, module in BETA2.items()} | {"nki.collectives": "nccl", "nki.isa.constants": "nisa"}


def is_ours(path: str) -> bool:
    """Is a dotted path one of NKI (0.2 or later)?"""
    return path == ROOT or path.startswith("nki.")


def star(module: str) -> Star | None:
    """What ``from MODULE import *`` gives."""
    if not is_ours(module):
        return None
    prefix = f"{module}."
    names: Container[str] = {
        name[len(prefix) :] for name in beta2.SYMBOLS if name.startswith(prefix) and "." not in name[len(prefix) :]
    }
    return module, names


def _counts(item: Import) -> bool:
    return True


def _short(path: str) -> str:
    """``nki.language.load`` is ``nl.load``, as rules and evidence name it."""
    path = beta2.canonical(path)
    module, _, name = path.rpartition(".")
    return f"{_ROOTS[module]}.{name}" if module in _ROOTS and module != ROOT else path


NAMING = Naming(_counts, _short)
"""Whose names show kernel code of NKI 0.2 and later."""
