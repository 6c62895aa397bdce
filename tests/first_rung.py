"""The rules from Beta 1 by themselves: what they write is of NKI 0.2, and the ladder begins there.

Tests of these rules take ``Options``, ``rewrite`` and ``rewrite_together`` from here: they say what the rules write
before later versions have changed anything of it. What the tool writes if it is not told is the newest version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nki_migrate import codemods
from nki_migrate.codemods import Outcome
from nki_migrate.runtime.spec.versions import OLDEST

FIRST = OLDEST.name


@dataclass(frozen=True)
class Options(codemods.Options):
    """The options of a rewrite to the first rung."""

    target: str = FIRST


def rewrite(source: str, options: codemods.Options | None = None, filename: str = "<string>") -> Outcome:
    """One module at NKI 0.2."""
    return codemods.rewrite(source, options or Options(), filename)


def rewrite_together(
    sources: Mapping[str, str], options: codemods.Options | None = None, homes: Any = None
) -> dict[str, Outcome]:
    """Modules that import from each other at NKI 0.2."""
    return codemods.rewrite_together(sources, options or Options(), homes)
