"""What names of a file mean: which of them are TileLang's language, whatever they are called."""

from __future__ import annotations

from nki_migrate.runtime.spec.tilelang import NAMES

from ..syntax.name_scopes import Star

ROOT = "tilelang"
LANGUAGE = "tilelang.language"
_DIALECTS = tuple(f"tilelang.{name}.language" for name in ("cuda", "cpu", "rocm", "metal"))
_PARTS = ("allocate", "reduce", "reduce_op", "fill", "fill_op", "copy", "copy_op", "proxy", "builtin", "symbolics")
"""Modules of ``tilelang.language`` whose names the language has, too."""


def star(module: str) -> Star | None:
    """What ``from MODULE import *`` gives of the language."""
    return (LANGUAGE, NAMES) if canonical(f"{module}.") == "T." else None


def canonical(path: str) -> str | None:
    """``T.alloc_var`` for any path of a name of the language, ``T`` for the language itself, else ``None``."""
    for prefix in (LANGUAGE, *_DIALECTS):
        if path == prefix:
            return "T"
        if path.startswith(f"{prefix}."):
            parts = path[len(prefix) + 1 :].split(".")
            if len(parts) > 1 and parts[0] in _PARTS:
                parts = parts[1:]
            return ".".join(["T", *parts])
    return None
