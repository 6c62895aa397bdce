"""What a project says once, not in every command: ``nki-migrate.toml`` or the table of ``pyproject.toml``.

The nearest one counts, from the working directory up to the root of its repository. An option of the command line
replaces what the file says.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from nki_migrate.runtime.spec.versions import NAMES, RANGE, versions_of

from .errors import InputError
from .gitignore import Rules, ignored, pattern_rules

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

OWN_FILE, PROJECT_FILE, TABLE = "nki-migrate.toml", "pyproject.toml", "nki-migrate"

CONFIGURATION = "nki_migrate.configuration"
"""Where the context of a command has it."""

ALLOCATIONS = ("address", "sbuf-manager")
BLOCKS = ("auto", "list", "fold", "loop")
SUPPORT = ("module", "inline")

_LISTS = ("select", "ignore", "exclude")
_CHOICES = {"allocation": ALLOCATIONS, "blocks": BLOCKS, "support": SUPPORT}
_VERSIONS = "target"
_CODES_BY_FILE = "per-file-ignores"
_PATH = "cases"
_RENAMES = "renames"
KEYS = ("select", "ignore", _CODES_BY_FILE, "allocation", "blocks", "support", _VERSIONS, _PATH, "exclude", _RENAMES)


@dataclass(frozen=True)
class Configuration:
    """The values of one file, by key; ``path`` is empty where there is none."""

    path: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def cases(self) -> str | None:
        """The file of cases, as it is found from the working directory."""
        return os.path.relpath(os.path.join(self.directory, self.values[_PATH])) if _PATH in self.values else None

    @property
    def codes_by_file(self) -> Iterator[str]:
        """The codes, or their beginnings, that ``per-file-ignores`` names."""
        return (code for codes in self.values.get(_CODES_BY_FILE, {}).values() for code in codes)

    @property
    def directory(self) -> str:
        return os.path.dirname(self.path)

    @property
    def renames(self) -> tuple[tuple[str, str], ...]:
        """In-house names, each with the function of NKI that it stands for."""
        return tuple(sorted(self.values.get(_RENAMES, {}).items()))

    def codes(self, key: str) -> tuple[str, ...]:
        """The codes or names of rules that ``select`` or ``ignore`` has."""
        return tuple(self.values.get(key, ()))

    def excludes(self, path: str) -> bool:
        """Is a file, or a directory that it is in, left out of directories?"""
        rules = pattern_rules(self.directory, self.values.get("exclude", ()))
        return bool(rules.patterns) and _matches(rules, path)

    def ignored_codes(self, path: str) -> frozenset[str]:
        """The codes, or their beginnings, whose findings are not reported of a file."""
        by_file = self.values.get(_CODES_BY_FILE, {})
        found = (by_file[glob] for glob in by_file if _matches(pattern_rules(self.directory, [glob]), path))
        return frozenset(code.upper() for codes in found for code in codes)


def _matches(rules: Rules, path: str) -> bool:
    inside = os.path.relpath(os.path.abspath(path), rules.base)
    parts = inside.split(os.sep)
    if parts[0] == os.pardir:
        return False
    places = [os.path.join(rules.base, *parts[:depth]) for depth in range(1, len(parts) + 1)]
    return any(ignored(place, os.path.isdir(place), (rules,)) for place in places)


def configuration(directory: str) -> Configuration:
    """The configuration that counts in a directory. Raises ``InputError`` for one that cannot be used."""
    for place in _upwards(os.path.abspath(directory)):
        own, project = os.path.join(place, OWN_FILE), os.path.join(place, PROJECT_FILE)
        if os.path.isfile(own):
            return Configuration(own, _checked(own, _read(own), "here"))
        if os.path.isfile(project):
            table = _read(project).get("tool", {}).get(TABLE)
            if table is not None:
                return Configuration(project, _checked(project, table, f"in [tool.{TABLE}]"))
    return Configuration()


def _upwards(directory: str) -> Iterator[str]:
    while True:
        yield directory
        parent = os.path.dirname(directory)
        if parent == directory or os.path.exists(os.path.join(directory, ".git")):
            return
        directory = parent


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{os.path.relpath(path)}: this is no TOML: {error}") from error


def _checked(path: str, table: Any, where: str) -> Mapping[str, Any]:
    name = os.path.relpath(path)
    if not isinstance(table, dict):
        raise InputError(f"{name}: 'tool.{TABLE}' is no table: write [tool.{TABLE}]")
    for key, value in table.items():
        if key not in KEYS:
            close = get_close_matches(key.replace("_", "-"), KEYS, n=1, cutoff=0.5)
            hint = f"did you mean {close[0]!r}?" if close else f"the keys are {', '.join(KEYS)}"
            raise InputError(f"{name}: there is no key {key!r} {where}: {hint}")
        wanted = _wanted(key, value)
        if wanted:
            raise InputError(f"{name}: {key!r} must be {wanted}, not {value!r}")
    return table


def _wanted(key: str, value: Any) -> str:
    """What the value of a key must be; empty where it is."""
    if key in _LISTS:
        return "" if _is_list(value) else "a list of texts"
    if key in _CHOICES:
        return "" if value in _CHOICES[key] else "one of " + ", ".join(map(json.dumps, _CHOICES[key]))
    if key == _VERSIONS:
        whole = json.dumps(RANGE.join((NAMES[0], NAMES[-1])))
        return "" if _is_range(value) else f"a version, or a range of them: {whole}"
    if key == _CODES_BY_FILE:
        fits = isinstance(value, dict) and all(map(_is_list, value.values()))
        return "" if fits else "a table of lists of codes, by the pattern of files"
    if key == _RENAMES:
        from .rename_table import wanted  # the tables of all names of NKI take longer than the rest of a start

        return wanted(value)
    return "" if isinstance(value, str) else "the path of a file"


def _is_range(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(versions_of(value))
    except ValueError:
        return False


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def shown_values(found: Configuration, defaults: Mapping[str, Any]) -> Iterator[str]:
    """``key = value`` and where it comes from, for each key that has a value."""
    for key in KEYS:
        if key in found.values:
            yield f"{key} = {json.dumps(found.values[key])}  # {os.path.relpath(found.path)}"
        elif key in defaults:
            yield f"{key} = {json.dumps(defaults[key])}  # default"
        else:
            yield f"{key} is not set"
