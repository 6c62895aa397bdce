"""Address maps before and after, side by side, as SVG: bytes of a partition to the right, partitions downwards.

Both sides have one scale, and a tensor has one colour on both. A place that the other side does not use is outlined.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from nki_migrate.runtime.compare import TileRow
from nki_migrate.runtime.spec.memory import MemoryModel, Space

from ..layout_map import Where, labels, where_of
from .markup import element, escaped, rectangle, stroke, words

_WIDTH, _HEIGHT, _LEFT, _TOP = 520, 200, 30, 18
_HUES = 12
_MOST_PLACES = 3000


@dataclass(frozen=True)
class _Scale:
    """The part of a memory that is drawn: bytes 0 to ``bytes`` of all partitions."""

    space: Space
    bytes: int

    def x(self, byte: int) -> float:
        return _LEFT + byte * _WIDTH / self.bytes

    def y(self, partition: int) -> float:
        return _TOP + partition * _HEIGHT / self.space.rows


def maps(before: Sequence[TileRow], after: Sequence[TileRow], model: MemoryModel) -> str:
    """A figure for each memory that a pinned tile of either side lies in; empty if none does."""
    figures = []
    for space in model.spaces:
        sides = tuple(_places(space.name, rows) for rows in (before, after))
        if any(sides):
            figures.append(_figure(space, *sides))
    loose = tuple(sum(not row.pinned for row in rows) for rows in (before, after))
    note = f"Without an address, so not drawn: {loose[0]} tiles before, {loose[1]} after." if any(loose) else ""
    return "".join(figures) + (element("p", escaped(note), class_="note") if note else "")


def _places(space: str, rows: Iterable[TileRow]) -> dict[Where, list[TileRow]]:
    """The tiles at each place of a memory: often many take turns at one."""
    found: dict[Where, list[TileRow]] = {}
    for row in rows:
        if row.space == space and row.pinned:
            found.setdefault(where_of(row), []).append(row)
    return found


def _figure(space: Space, before: dict[Where, list[TileRow]], after: dict[Where, list[TileRow]]) -> str:
    top = max(byte + size for byte, _, _, size in (*before, *after))
    if space.bank:
        top = min(max(space.extents.values()), -(-top // space.bank) * space.bank)
    scale = _Scale(space, top)
    names = sorted({row.tensor for places in (before, after) for rows in places.values() for row in rows})
    hues = {name: number % _HUES for number, name in enumerate(names)}
    drawn = [
        element(
            "div",
            element("h5", title),
            _svg(scale, mine, set(other), hues, f"{space.title} {title}"),
            class_="map",
        )
        for title, mine, other in (("before", before, after), ("after", after, before))
    ]
    same = before.keys() == after.keys()
    verdict = "the same places on both sides" if same else "outlined: a place that the other side does not use"
    caption = f"{space.title}, bytes 0 to {top}{' of each partition' if space.rows > 1 else ''}: {verdict}"
    return element(
        "figure", element("figcaption", escaped(caption)), element("div", *drawn, class_="maps"), _legend(hues)
    )


def _svg(scale: _Scale, places: dict[Where, list[TileRow]], other: set[Where], hues: dict[str, int], label: str) -> str:
    size = f"0 0 {_LEFT + _WIDTH + 10} {_TOP + _HEIGHT + 22}"
    frame = _rectangle(scale, (0, 0, scale.space.rows, scale.bytes), "frame")
    shown = sorted(places, key=lambda place: (-place[2] * place[3], place))[:_MOST_PLACES]
    tiles = [_tile(scale, place, places[place], place not in other, hues) for place in shown]
    hidden = len(places) - len(shown)
    more = [words(_LEFT, _TOP - 5, f"and {hidden} smaller places")] if hidden else []
    return element("svg", frame, *_axes(scale), *tiles, *more, viewBox=size, role="img", aria_label=label)


def _tile(scale: _Scale, place: Where, rows: Sequence[TileRow], moved: bool, hues: dict[str, int]) -> str:
    byte, partition, partitions, size = place
    kinds = ", ".join(dict.fromkeys(f"{row.dtype}, line {row.line}" for row in rows))
    where = f"partitions {partition}-{partition + partitions - 1}, bytes {byte}-{byte + size - 1}"
    title = element("title", escaped(f"{labels(rows)} ({kinds})\n{where}"))
    return _rectangle(scale, place, f"tile h{hues[rows[0].tensor]}{' moved' if moved else ''}", title)


def _rectangle(scale: _Scale, place: Where, classes: str, content: str = "") -> str:
    byte, partition, partitions, size = place
    x, y = scale.x(byte), scale.y(partition)
    width, height = scale.x(byte + size) - x, scale.y(partition + partitions) - y
    return rectangle(x, y, width, height, classes, content)


def _axes(scale: _Scale) -> Iterator[str]:
    rows = scale.space.rows
    for partition in (rows * quarter // 4 for quarter in range(5) if rows > 1):
        yield words(_LEFT - 4, scale.y(partition) + 3, partition, "y")
    bottom = _TOP + _HEIGHT
    if scale.space.bank:
        for bank in range(scale.bytes // scale.space.bank):
            x = scale.x(bank * scale.space.bank)
            yield stroke(x, _TOP, x, bottom)
            yield words(x + 3, bottom + 14, f"bank {bank}")
        return
    for quarter in range(5):
        x = scale.x(scale.bytes * quarter // 4)
        anchor = "start" if quarter == 0 else "end" if quarter == 4 else "middle"
        yield stroke(x, bottom, x, bottom + 4)
        yield words(x, bottom + 16, scale.bytes * quarter // 4, anchor=anchor)


def _legend(hues: dict[str, int]) -> str:
    entries = (
        element("li", element("span", class_=f"swatch h{hue}"), escaped(name or "<unnamed>"))
        for name, hue in hues.items()
    )
    return element("ul", *entries, class_="legend")
