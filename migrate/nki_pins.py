"""The versions of NKI that a project asks for, by its pins of ``nki`` and ``neuronx-cc``: evidence beside its code."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace

from nki_migrate.codemods.model import Options, Pin
from nki_migrate.runtime.spec.versions import VERSIONS, Version

from .discover import STDIN, Found
from .grouping import source_name
from .pins import asked_of


def with_pins(options: Options, files: Iterable[Found]) -> Options:
    """``options`` with what the projects of the files pin; pins count where nobody says the version (``--from``)."""
    if options.source or options.language:
        return options
    known: dict[str, Pin | None] = {}  # of each folder, by its name as it is
    found: list[tuple[str, Pin | None]] = []
    for path in (file.path for file in files if file.path != STDIN):
        folder = os.path.dirname(path)
        if folder not in known:
            known[folder] = pin_of(path)
        found.append((path, known[folder]))
    return replace(options, pins=tuple((source_name(path), pin) for path, pin in found if pin is not None))


def pin_of(path: str) -> Pin | None:
    """What the project of a file asks for; ``None`` where it pins nothing, or no package with NKI."""
    for package in ("nki", "neuronx-cc"):
        asked = asked_of(path, package)
        if asked is None:
            continue
        admitted = [item for item in VERSIONS if any(asked.admits(number) for number in _numbers(item, package))]
        if admitted and len(admitted) < len(VERSIONS):
            clauses = ",".join(sign + number for sign, number in asked.clauses)
            return Pin(
                admitted[0].name, admitted[-1].name, f"{os.path.relpath(asked.file)} asks for {package}{clauses}"
            )
    return None


def _numbers(item: Version, package: str) -> tuple[str, ...]:
    return item.packages if package == "nki" else item.compilers
