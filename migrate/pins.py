"""The versions of a package that a project asks for: in ``pyproject.toml`` or in its requirement files."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_CLAUSE = re.compile(r"(==|>=|<=|~=|<|>|!=)\s*v?(\d+(?:\.\d+)+)")
_NAMES = ("pyproject.toml", "setup.cfg", "setup.py")


@dataclass(frozen=True)
class Wanted:
    """What a ``file`` asks of a package: pairs of a sign and a version, all of which hold."""

    file: str
    clauses: tuple[tuple[str, str], ...]

    def admits(self, series: str) -> bool:
        """Does some version of a series, ``0.3`` for all of ``0.3.x``, fulfil the clauses?"""
        return all(_has_one(_number(series), sign, _number(version)) for sign, version in self.clauses)


def _has_one(series: tuple[int, ...], sign: str, version: tuple[int, ...]) -> bool:
    first, rest = version[: len(series)], version[len(series) :]
    if sign in ("==", "~=") and (sign == "==" or rest):
        return series == first
    if sign == "<":
        return series < first or (series == first and any(rest))
    return series <= first if sign == "<=" else series >= first if sign in (">=", ">", "~=") else True


def asked_of(path: str, package: str) -> Wanted | None:
    """What the project of ``path`` asks of a package: the nearest file above that does, within its repository."""
    return _nearest(os.path.dirname(os.path.abspath(path)), package)


def versions_of(path: str, package: str, known: Sequence[str]) -> tuple[str, str]:
    """The oldest and the newest of ``known`` versions that the project of ``path`` admits; empty where none is said.

    A version that is pinned exactly is what the source is for: it says nothing about the newest.
    """
    asked = asked_of(path, package)
    if asked is None:
        return "", ""
    clauses = asked.clauses
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
def _nearest(directory: str, package: str) -> Wanted | None:
    for file in _files_of(directory):
        found = _asked(file, package)
        if found:
            return Wanted(file, found)
    above = os.path.dirname(directory)
    is_root = above == directory or os.path.exists(os.path.join(directory, ".git"))
    return None if is_root else _nearest(above, package)


@cache
def _files_of(directory: str) -> tuple[str, ...]:
    """The files of one folder that may say versions."""
    try:
        listed = os.listdir(directory)
    except OSError:
        return ()
    names = [name for name in _NAMES if name in listed]
    names += sorted(name for name in listed if "requirements" in name and name.endswith(".txt"))
    return tuple(path for name in names if os.path.isfile(path := os.path.join(directory, name)))


def _asked(file: str, package: str) -> tuple[tuple[str, str], ...]:
    try:
        text = Path(file).read_text(encoding="utf-8", errors="replace")
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
