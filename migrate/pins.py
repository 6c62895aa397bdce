"""The versions of a package that a project asks for: in ``pyproject.toml`` or in its requirement files."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

_CLAUSE = re.compile(r"(==|>=|<=|~=|<|>|!=)\s*v?(\d+(?:\.\d+)+)")
_NAMES = ("pyproject.toml", "setup.cfg", "setup.py")


def versions_of(path: str, package: str, known: Sequence[str]) -> tuple[str, str]:
    """The oldest and the newest of ``known`` versions that the project of ``path`` admits; empty where none is said.

    A version that is pinned exactly is what the source is for: it says nothing about the newest.
    """
    clauses = _clauses(os.path.dirname(os.path.abspath(path)), package)
    if not clauses:
        return "", ""
    lows = [version for sign, version in clauses if sign in ("==", ">=", "~=", ">")]
    highs = [(sign, version) for sign, version in clauses if sign in ("<", "<=")]
    oldest = max(lows, key=_number, default="")
    newest = ""
    if highs:
        fitting = [each for each in known if all(_is_below(each, *high) for high in highs)]
        newest = fitting[-1] if fitting else ""
    if oldest and _number(oldest) < _number(known[0]):
        oldest = known[0]
    return oldest, newest


def _is_below(version: str, sign: str, limit: str) -> bool:
    return _number(version) < _number(limit) or (sign == "<=" and _number(version) == _number(limit))


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


@cache
def _clauses(directory: str, package: str) -> tuple[tuple[str, str], ...]:
    """The version clauses of the nearest file above that asks for ``package``."""
    folder = Path(directory)
    for above in (folder, *folder.parents):
        files = [above / name for name in _NAMES]
        try:
            files += sorted(each for each in above.glob("*requirements*.txt") if each.is_file())
        except OSError:
            continue
        for file in files:
            found = _asked(file, package)
            if found:
                return found
    return ()


def _asked(file: Path, package: str) -> tuple[tuple[str, str], ...]:
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ()
    wanted = re.compile(
        rf"(?:^|[\s\"'\[,]){re.escape(package)}(?:\[[^\]]*\])?\s*\(?((?:(?:==|>=|<=|~=|<|>|!=)[^\"'\n;#)]*)+)", re.M
    )
    for match in wanted.finditer(text):
        clauses = tuple(_CLAUSE.findall(match[1]))
        if clauses:
            return clauses
    return ()
