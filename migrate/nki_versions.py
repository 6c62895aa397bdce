"""The version of NKI that a file runs as, if nobody says it: by what the file shows, else the newest."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path

from nki_migrate.codemods.model import Options
from nki_migrate.runtime.cases import Case
from nki_migrate.runtime.spec.versions import DEFAULT, Version, version


def version_of(data: bytes, asked: str = "") -> str:
    """The version that a kernel of a file runs as: the one that is asked for, or the default.

    A file that shows that it is of no such version runs as the nearest one that it may be of.
    """
    wanted = version(asked) if asked else DEFAULT
    if b"neuronxcc" in data or b"nki" not in data:
        return wanted.name
    found = _shown_range(data)
    return wanted.name if found is None else min(max(wanted, found[0]), found[1]).name


def at_version(case: Case, file: str) -> Case:
    """The case with the version that a kernel of ``file`` runs as; the worker says what is wrong with the file."""
    try:
        return replace(case, target=version_of(Path(file).read_bytes(), case.target))
    except OSError:
        return case


@functools.lru_cache(maxsize=64)
def _shown_range(data: bytes) -> tuple[Version, Version] | None:
    """The oldest and the newest version that a file may be of, where it shows any."""
    from nki_migrate.codemods.ladder.driver import sources_of

    try:
        (source,) = sources_of({"": data.decode()}, Options()).values()
    except (SyntaxError, ValueError):
        return None
    return (source.low, source.high) if source.shown else None
