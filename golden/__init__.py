"""Kernels before and after, with the cases that run them: examples of the documentation and tests of the rules.

A golden is a folder: ``before.py`` (Beta 1), ``after.py`` (what the rewrite must give at the newest version of NKI),
``cases.toml``, ``reference.py`` (NumPy) and ``golden.toml``, which says where it comes from and what it shows. Where the
versions after 0.2 changed something of it, ``after_0.2.py`` is what the rules from Beta 1 give by themselves. A golden
without ``before.py`` shows the later language alone; ``wrong_after.py`` is a migration that looks right, and that the
verification must tell from the right one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = [
    "FIRST",
    "GOLDENS",
    "LADDER_GOLDENS",
    "NEWEST",
    "NKI_GOLDENS",
    "Golden",
    "Layout",
    "Printed",
    "WrongAfter",
    "read",
]

_KEYS = {
    *("title", "source", "version", "rules", "notes", "options", "observe", "expected_failure"),
    *("layout", "printed", "wrong_after"),
    *("left", "noted", "differs"),
}

_OTHERS = ("ascend", "tilelang")
_LADDER = "ladder_"

FIRST, NEWEST = "0.2", "0.6"
"""The version that the rules from Beta 1 write, on which the ladder stands, and the one that commands write."""


@dataclass(frozen=True)
class Layout:
    """One row of an address table: in the run of ``case`` (of every case when empty), the tile lies there.

    ``row`` holds keys of a row of ``nki-migrate layout``: at least ``tensor``, ``block``, ``space``, ``partition`` and
    ``byte``. For a tile that a loop declares again, ``number`` is the pass that is meant, counted from 0; ``None``
    means that every pass puts it there.
    """

    case: str
    row: Mapping[str, Any]
    number: int | None = None


@dataclass(frozen=True)
class Printed:
    """Text that the run of ``case`` prints."""

    case: str
    text: str


@dataclass(frozen=True)
class WrongAfter:
    """How the verification tells ``wrong_after.py`` from the right migration.

    ``level`` is the first level whose verdict is not *equal*, ``verdict`` that verdict. ``case`` names the case that
    shows it (every case when empty), ``reason`` says what is wrong.
    """

    level: str
    verdict: str
    reason: str
    case: str = ""


@dataclass(frozen=True)
class Golden:
    """One golden: its folder, and what ``golden.toml`` says.

    ``version`` is the one of ``before.py`` (empty: Beta 1). ``rules`` are the codes that it is an example of,
    ``options`` the options of the rewrite that differ from the default, ``notes`` what the after must keep.
    ``observe``: the rewrite uses what its cases show. ``expected_failure`` says why the rewrite does not give the after
    yet. Of the ladder: ``left`` are the codes of the findings that stay, after which no kernel runs, ``noted`` those
    that ``--unsafe`` makes notes of, and ``differs`` the levels at which the two versions themselves part.
    """

    name: str
    folder: Path
    title: str
    source: str
    notes: str
    version: str = ""
    rules: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    observe: bool = False
    expected_failure: str = ""
    layout: tuple[Layout, ...] = ()
    printed: tuple[Printed, ...] = ()
    wrong_after: WrongAfter | None = None
    left: tuple[str, ...] = ()
    noted: tuple[str, ...] = ()
    differs: tuple[str, ...] = ()

    @property
    def target(self) -> str:
        """The version of NKI of ``after.py``."""
        return str(self.options.get("target", NEWEST))

    @property
    def before_path(self) -> Path:
        return self.folder / "before.py"

    @property
    def after_path(self) -> Path:
        return self.folder / "after.py"

    @property
    def first_after_path(self) -> Path:
        """What the rules from Beta 1 give by themselves, at :data:`FIRST`."""
        path = self.folder / f"after_{FIRST}.py"
        return path if path.exists() else self.after_path

    @property
    def wrong_after_path(self) -> Path:
        return self.folder / "wrong_after.py"

    @property
    def cases_path(self) -> Path:
        return self.folder / "cases.toml"

    @property
    def language(self) -> str:
        """The kernel language."""
        return language_of(self.name)

    @property
    def is_beta2_only(self) -> bool:
        """Is there no Beta 1 kernel to start from?"""
        return not self.before_path.exists()

    @property
    def before(self) -> str:
        """The Beta 1 source. Raises ``FileNotFoundError`` for a golden that is Beta 2 only."""
        return _text(self.before_path)

    @property
    def after(self) -> str:
        """The source after the rewrite, at :attr:`target`."""
        return _text(self.after_path)

    @property
    def first_after(self) -> str:
        """The source after the rewrite at :data:`FIRST`."""
        return _text(self.first_after_path)


def language_of(name: str) -> str:
    """The kernel language of a golden: what stands before the first ``_`` of its name, if that is one besides NKI."""
    prefix = name.partition("_")[0]
    return prefix if prefix in _OTHERS else "nki"


def read(folder: Path) -> Golden:
    """The golden in ``folder``.

    Raises ``ValueError`` for a key that no golden has, ``KeyError`` for one that is missing.
    """
    table = tomllib.loads((folder / "golden.toml").read_text(encoding="utf-8"))
    unknown = table.keys() - _KEYS
    if unknown:
        raise ValueError(f"{folder / 'golden.toml'}: unknown key '{min(unknown)}'")
    return Golden(
        name=folder.name,
        folder=folder,
        title=table["title"],
        source=table["source"],
        notes=table["notes"],
        version=table.get("version", ""),
        rules=tuple(table.get("rules", ())),
        options=MappingProxyType(table.get("options", {})),
        observe=table.get("observe", False),
        expected_failure=table.get("expected_failure", ""),
        layout=tuple(_layout(row) for row in table.get("layout", ())),
        printed=tuple(Printed(entry["case"], entry["text"].strip("\n")) for entry in table.get("printed", ())),
        wrong_after=WrongAfter(**table["wrong_after"]) if "wrong_after" in table else None,
        **{key: tuple(table.get(key, ())) for key in ("left", "noted", "differs")},
    )


def _layout(row: dict[str, Any]) -> Layout:
    case, number = row.pop("case", ""), row.pop("pass", None)
    return Layout(case, MappingProxyType(row), number)


def _text(path: Path) -> str:
    """The file as it is: line endings included, so that two sources compare byte by byte."""
    return path.read_bytes().decode("utf-8")


class _Goldens(Mapping[str, Golden]):
    """The goldens by name, read when they are asked for."""

    def __init__(self, root: Path, wanted: Callable[[str], bool]) -> None:
        self._root, self._wanted = root, wanted
        self._names: tuple[str, ...] | None = None
        self._read: dict[str, Golden] = {}

    @property
    def names(self) -> tuple[str, ...]:
        if self._names is None:
            names = sorted(path.parent.name for path in self._root.glob("*/golden.toml"))
            self._names = tuple(filter(self._wanted, names))
        return self._names

    def __getitem__(self, name: str) -> Golden:
        if name not in self._read:
            if name not in self.names:
                raise KeyError(name)
            self._read[name] = read(self._root / name)
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


GOLDENS: Mapping[str, Golden] = _Goldens(Path(__file__).parent, lambda name: True)
NKI_GOLDENS: Mapping[str, Golden] = _Goldens(
    Path(__file__).parent, lambda name: language_of(name) == "nki" and not name.startswith(_LADDER)
)
"""Those of Beta 1 and Beta 2 only."""
LADDER_GOLDENS: Mapping[str, Golden] = _Goldens(Path(__file__).parent, lambda name: name.startswith(_LADDER))
"""Those from one version of NKI to a later one."""
