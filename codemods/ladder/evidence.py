"""Which version of NKI a file is of: what only some versions have, or take.

Names and keywords that only some versions know narrow the range; so do forms that a later version refuses, which the
rules know. Pins of the project are evidence, too, and ``--from`` overrides all.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from nki_migrate.runtime.spec import beta2
from nki_migrate.runtime.spec.versions import NEWEST, OLDEST, VERSIONS, Version, version

from ..model import Pin
from .rung import Rung


@dataclass(frozen=True)
class Source:
    """The versions that a file may be of, ``low`` to ``high``, and what shows it (a line and a sentence each).

    ``is_migrated``: the rules from Beta 1 wrote it just now. ``pin`` is what the project asks for, where that narrowed
    the range (``is_pinned``), or contradicts what the code shows.
    """

    low: Version = OLDEST
    high: Version = NEWEST
    shown: tuple[tuple[int, str], ...] = ()
    is_migrated: bool = False
    pin: str = ""
    is_pinned: bool = False

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


def with_pin(source: Source, pin: Pin) -> Source:
    """``source`` in a project with a pin: what the code shows counts for more."""
    low, high = max(source.low, version(pin.low)), min(source.high, version(pin.high))
    if low > high:
        return replace(source, pin=pin.why)
    if (low, high) == (source.low, source.high):
        return source
    return replace(source, low=low, high=high, shown=(*source.shown, (1, pin.why)), pin=pin.why, is_pinned=True)


def before(source: Source, version: Version, line: int, what: str) -> Source:
    """``source``, in which a form was seen that ``version`` refuses."""
    older = [item for item in VERSIONS if item < version]
    if not older or source.low > older[-1] or source.high <= older[-1]:
        return source
    return Source(source.low, older[-1], (*source.shown, (line, what)))


def _shown(rung: Rung) -> Iterator[tuple[int, str, list[Version]]]:
    """Lines, what stands there, and the versions that have it, where not all do."""
    for node, name in named(rung):
        above = rung.parents.get(node)
        call = above if isinstance(above, ast.Call) and above.func is node else None
        entries = {item: beta2.symbol(name, item) for item in VERSIONS}
        called = [item for item, entry in entries.items() if entry is not None and entry.is_callable]
        having = (
            called if call is not None and called else [item for item, entry in entries.items() if entry is not None]
        )
        if having and len(having) < len(VERSIONS):
            what = f"{name}{'()' if call is not None else ''} is in {_range(having)} only"
            yield node.lineno, what, having
        elif having and call is not None:
            yield from _keywords(call, name, having)


def named(rung: Rung) -> Iterator[tuple[ast.Name | ast.Attribute, str]]:
    """What means something of NKI, the longest names only."""
    for node in rung.read:
        name, above = rung.qualified(node) if node not in rung.left else "", rung.parents.get(node)
        if name and not (isinstance(above, ast.Attribute) and rung.qualified(above)):
            yield node, name


def _keywords(call: ast.Call, name: str, having: list[Version]) -> Iterator[tuple[int, str, list[Version]]]:
    for keyword in call.keywords:
        if keyword.arg is None:
            continue
        taking = [item for item in having if _takes(name, item, keyword.arg)]
        if taking and len(taking) < len(having):
            what = f"{name.rpartition('.')[2]}({keyword.arg}=) is in {_range(taking)} only"
            yield keyword.value.lineno, what, taking


def _takes(name: str, item: Version, keyword: str) -> bool:
    entry = beta2.symbol(name, item)
    if entry is None or entry.parameters is None:
        return entry is not None
    parameter = entry.parameter(keyword)
    return entry.keywords or (parameter is not None and not parameter.refused)


def _range(versions: list[Version]) -> str:
    first, last = versions[0], versions[-1]
    if last == NEWEST:
        return f"NKI {first} and later"
    return f"NKI {first}" if first == last else f"NKI {first} to {last}"
