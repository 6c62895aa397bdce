"""The versions of NKI in their order. What each of them changed is in :mod:`.changes`.

A version is a position in :data:`VERSIONS`: compare the values (``version(name) >= V03``), never their names.

Source: the SDK documentation at v2.32.0 (81ce03ae), ``nki/migration/index.rst`` ("NKI version to Neuron SDK mapping")
and ``release-notes/components/nki.rst`` (dates); ``src/helperscripts/n2-manifest.json`` (packages of each release).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field


@dataclass(frozen=True, order=True)
class Version:
    """One version of NKI. ``position`` orders it, ``releases`` are the SDKs with it, ``date`` is the first one's.

    ``packages`` and ``compilers`` are the series of ``nki`` and of ``neuronx-cc`` in those.
    """

    position: int
    name: str = field(compare=False)
    releases: tuple[str, ...] = field(compare=False)
    date: str = field(compare=False)
    packages: tuple[str, ...] = field(compare=False)
    compilers: tuple[str, ...] = field(compare=False)

    def __str__(self) -> str:
        return self.name


V02 = Version(0, "0.2", ("2.27", "2.28"), "2025-12-19", ("0.1", "0.2"), ("2.22", "2.23"))
V03 = Version(1, "0.3", ("2.29",), "2026-04-09", ("0.3",), ("2.24",))
V04 = Version(2, "0.4", ("2.30",), "2026-05-21", ("0.4",), ("2.25",))
V05 = Version(3, "0.5", ("2.31",), "2026-07-07", ("0.5",), ("2.26",))
V06 = Version(4, "0.6", ("2.32",), "2026-08-17", ("0.6",), ("2.27",))
VERSIONS = (V02, V03, V04, V05, V06)
NAMES = tuple(item.name for item in VERSIONS)
OLDEST, NEWEST = VERSIONS[0], VERSIONS[-1]
DEFAULT = NEWEST
"""What commands write for, judge by and run as, if they are not told: the version that people have."""

ANNOUNCED = {"0.7": "SDK 2.33"}
"""Versions after :data:`NEWEST`, of which only announcements were at hand: ``docs/versions.md`` says what they tell.

Source: "Announcing changes to NKI specialization", 2026-10-16; release notes of the SDK 2.33.0, 2026-10-19.
"""


def version(name: Version | str) -> Version:
    """The version called ``name``; a version is itself.

    Raises
    ------
    ValueError
        There is no such version.
    """
    if isinstance(name, Version):
        return name
    for item in VERSIONS:
        if item.name == name:
            return item
    if name in ANNOUNCED:
        raise ValueError(f"NKI {name} ({ANNOUNCED[name]}) is not known here yet: it takes what is written for {NEWEST}")
    raise ValueError(f"there is no NKI version {name}: choose from {', '.join(NAMES)}")


RANGE = ".."
"""Stands between the oldest and the newest of several versions: ``0.3..0.5``."""


def versions_of(text: str) -> tuple[Version, ...]:
    """The versions that ``0.3`` or ``0.3..0.5`` names, in their order.

    Raises
    ------
    ValueError
        There is no such version, or the range runs backwards.
    """
    first, is_range, last = text.partition(RANGE)
    low, high = version(first), version(last if is_range else first)
    if high < low:
        raise ValueError(f"{text} runs backwards: the older version stands first, {high}{RANGE}{low}")
    return VERSIONS[low.position : high.position + 1]


def shown(versions: Collection[Version]) -> str:
    """Versions as a reader reads them: ``0.2``, ``0.3 to 0.5``, and with a gap ``0.2, 0.4 to 0.6``."""
    runs: list[list[Version]] = []
    for item in sorted(versions):
        if runs and runs[-1][-1].position + 1 == item.position:
            runs[-1].append(item)
        else:
            runs.append([item])
    return ", ".join(run[0].name if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)


@dataclass(frozen=True)
class Span:
    """The versions from ``since`` up to but not including ``until`` (``None``: all that follow)."""

    since: Version = OLDEST
    until: Version | None = None

    def __contains__(self, item: Version) -> bool:
        return self.since <= item and (self.until is None or item < self.until)

    def __str__(self) -> str:
        inside = [item.name for item in VERSIONS if item in self]
        if self.until is None:
            return f"from {self.since} on"
        return inside[0] if len(inside) == 1 else f"{inside[0]} to {inside[-1]}"


EVER = Span()
BETA2 = Span(until=V03)
"""What the front end of 0.2 does and none after it."""
LATER = Span(V03)
FUNCTION_LOOPS = Span(V06)
"""Loops on the device are functions that take their body as one: ``nl.fori_loop``, ``nl.while_loop``."""
