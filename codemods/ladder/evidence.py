"""Which version of NKI a file is of: what only some versions have, or take.

Names and keywords that only some versions know narrow the range; so do forms that a later version refuses, which the
rules know. Pins of the project are evidence, too, and ``--from`` overrides all.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from nki_migrate.runtime.spec import beta2
from nki_migrate.runtime.spec.versions import NAMES, NEWEST, OLDEST, VERSIONS, Version

from .rung import Rung

_KNOWN = tuple(item for item in VERSIONS if item.name in getattr(beta2, "TARGETS", NAMES))


@dataclass(frozen=True)
class Source:
    """The versions that a file may be of, ``low`` to ``high``, and what shows it (a line and a sentence each)."""

    low: Version = OLDEST
    high: Version = NEWEST
    shown: tuple[tuple[int, str], ...] = ()

    @property
    def is_certain(self) -> bool:
        return self.low == self.high

    def __str__(self) -> str:
        return self.low.name if self.is_certain else f"{self.low} to {self.high}"


def source_of(rung: Rung) -> Source:
    """What the names and keywords of a file show. What contradicts what was shown before is left out."""
    found = Source()
    for line, what, versions in _shown(rung):
        low, high = max(found.low, min(versions)), min(found.high, max(versions))
        if low <= high and (low, high) != (found.low, found.high):
            found = Source(low, high, (*found.shown, (line, what)))
    return found


def before(source: Source, version: Version, line: int, what: str) -> Source:
    """``source``, in which a form was seen that ``version`` refuses."""
    older = [item for item in VERSIONS if item < version]
    if not older or source.low > older[-1] or source.high <= older[-1]:
        return source
    return Source(source.low, older[-1], (*source.shown, (line, what)))


def _shown(rung: Rung) -> Iterator[tuple[int, str, list[Version]]]:
    """Lines, what stands there, and the versions that have it, where not all do."""
    for node in rung.nodes:
        if not isinstance(node, (ast.Name, ast.Attribute)) or not isinstance(node.ctx, ast.Load):
            continue
        name = rung.qualified(node)
        above = rung.parents.get(node)
        if not name or (isinstance(above, ast.Attribute) and rung.qualified(above)):
            continue
        having = [item for item in _KNOWN if beta2.symbol(name, item.name) is not None]
        if having and len(having) < len(_KNOWN):
            yield node.lineno, f"{name} is in {_range(having)} only", _open_ended(having)
        elif having and isinstance(above, ast.Call) and above.func is node:
            yield from _keywords(above, name, having)


def _keywords(call: ast.Call, name: str, having: list[Version]) -> Iterator[tuple[int, str, list[Version]]]:
    for keyword in call.keywords:
        if keyword.arg is None:
            continue
        taking = [item for item in having if _takes(name, item, keyword.arg)]
        if taking and len(taking) < len(having):
            what = f"{name.rpartition('.')[2]}({keyword.arg}=) is in {_range(taking)} only"
            yield keyword.value.lineno, what, _open_ended(taking)


def _takes(name: str, item: Version, keyword: str) -> bool:
    entry = beta2.symbol(name, item.name)
    if entry is None or entry.parameters is None:
        return entry is not None
    parameter = entry.parameter(keyword)
    return entry.keywords or (parameter is not None and not parameter.refused)


def _open_ended(versions: list[Version]) -> list[Version]:
    """What the newest version with a table has, later ones may have, too."""
    return [*versions, NEWEST] if versions[-1] == _KNOWN[-1] else versions


def _range(versions: list[Version]) -> str:
    first, last = versions[0], versions[-1]
    if last == _KNOWN[-1]:
        return f"NKI {first} and later"
    return f"NKI {first}" if first == last else f"NKI {first} to {last}"
