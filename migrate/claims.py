"""Which kernel language a file is of.

What a language does is behind :class:`nki_migrate.codemods.dialect.Dialect`; its package is imported when a file may
be its own, so a run over NKI alone loads none.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nki_migrate.codemods.dialect import Dialect

HOMES: dict[str, tuple[bytes, str]] = {
    "ascend": (b"tilelang", "nki_migrate.codemods.ascend"),
    "tilelang": (b"tilelang", "nki_migrate.codemods.tilelang"),
}
"""Each language: a word that all of its files have, and the package whose ``DIALECT`` it is. The first claim counts."""


@cache
def dialect(name: str) -> Dialect:
    """The language called ``name``."""
    found: Dialect = importlib.import_module(HOMES[name][1]).DIALECT
    return found


def dialects() -> tuple[Dialect, ...]:
    """All languages besides NKI."""
    return tuple(map(dialect, HOMES))


def language_of(data: bytes) -> str:
    """The language of a file's kernels: ``nki``, unless another one claims the file."""
    near = [name for name, (word, _) in HOMES.items() if word in data]
    return next((name for name in near if dialect(name).claims(data)), "nki")
