"""Address maps before and after, side by side, as SVG: bytes of a partition to the right, partitions downwards.

Below each map is when its values live: instructions to the right, bytes downwards. Both sides have one scale, and a
tensor has one colour everywhere. A place that the other side does not use is outlined.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from nki_migrate.runtime.compare import TileRow
from nki_migrate.runtime.spec.memory import MemoryModel, Space

from ..layout_map import Where, labels, where_of
from ..spans import Span
from .markup import element, escaped, rectangle, stroke, words

_WIDTH, _HEIGHT, _LEFT, _TOP = 520, 200, 30, 18
_TIME_LEFT = 52
_TIME_WIDTH = _LEFT + _WIDTH - _TIME_LEFT
_HUES = 12
_MOST_PLACES = 3000
_CHARACTER = 5.4
"""Width of a character of the type in a drawing, in its units: an average."""
_KIB = 1024


@dataclass(frozen=True)
class _Scale:
    """The part of a memory that is drawn: bytes 0 to ``bytes`` of all partitions."""

    space: Space
    bytes: int

    def x(self, byte: int) -> float:
        return _LEFT + byte * _WIDTH / self.bytes

    def y(self, partition: int) -> float:
        return _TOP + partition * _HEIGHT / self.space.rows


def maps(
    before: Sequence[TileRow],
    after: Sequence[TileRow],
    model: MemoryModel,
    spans: tuple[Sequence[Span], Sequence[Span]] = ((), ()),
) -> str:
    """A figure for each memory that a pinned tile of either side lies in; empty if none does."""
    figures = []
    for space in model.spaces:
        sides = tuple(_places(space.name, rows) for rows in (before, after))
        if any(sides):
            lived = tuple([span for span in side if span.space == space.name] for side in spans)
            figures.append(_figure(space, *sides, *lived))
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


def _figure(
    space: Space,
    before: dict[Where, list[TileRow]],
    after: dict[Where, list[TileRow]],
    lived_before: Sequence[Span],
    lived_after: Sequence[Span],
) -> str:
    top = max(byte + size for byte, _, _, size in (*before, *after))
    if space.bank:
        top = min(max(space.extents.values()), -(-top // space.bank) * space.bank)
    scale = _Scale(space, top)
    names = sorted({row.tensor for places in (before, after) for rows in places.values() for row in rows})
    hues = {name: number % _HUES for number, name in enumerate(names)}
    end = max((span.last + 1 for span in (*lived_before, *lived_after)), default=0)
    drawn = [
        element(
            "div",
            element("h5", title),
            _svg(scale, mine, set(other), hues, f"{space.title} {title}"),
            _times(scale, lived, end, hues, f"{space.title} over time, {title}") if end else "",
            class_="map",
        )
        for title, mine, other, lived in (
            ("before", before, after, lived_before),
            ("after", after, before, lived_after),
        )
    ]
    same = before.keys() == after.keys()
    verdict = "the same places on both sides" if same else "outlined: a place that the other side does not use"
    size = f" ({_amount(top)})" if top >= _KIB else ""
    caption = f"{space.title}, bytes 0 to {top}{size}{' of each partition' if space.rows > 1 else ''}: {verdict}"
    if end:
        caption += (
            ". Above: bytes to the right, partitions downwards; below: instructions to the right, bytes downwards"
        )
    return element(
        "figure", element("figcaption", escaped(caption)), element("div", *drawn, class_="maps"), _legend(hues)
    )


def _svg(scale: _Scale, places: dict[Where, list[TileRow]], other: set[Where], hues: dict[str, int], label: str) -> str:
    size = f"0 0 {_LEFT + _WIDTH + 10} {_TOP + _HEIGHT + 30}"
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
    drawn = _rectangle(scale, place, f"tile h{hues[rows[0].tensor]}{' moved' if moved else ''}", title)
    x, y = scale.x(byte), scale.y(partition)
    return drawn + _label(labels(rows), x, y, scale.x(byte + size) - x, scale.y(partition + partitions) - y)


def _label(text: str, x: float, y: float, width: float, height: float) -> str:
    """``text`` in a box, as far as it fits."""
    room = int((width - 4) / _CHARACTER)
    if height < 11 or room < min(len(text), 3):
        return ""
    return words(x + 3, y + min(height / 2 + 4, 12), text if len(text) <= room else f"{text[: room - 1]}…", "label")


def _times(scale: _Scale, lived: Sequence[Span], end: int, hues: dict[str, int], label: str) -> str:
    """When values live: instructions 0 to ``end`` to the right, the bytes of the map downwards."""
    bottom = _TOP + _HEIGHT
    frame = rectangle(_TIME_LEFT, _TOP, _TIME_WIDTH, _HEIGHT, "frame")
    parts = [frame, *_time_axes(scale, end)]
    for span in sorted(lived, key=lambda span: -span.nbytes):
        x, width = (n * _TIME_WIDTH / end for n in (span.first, span.last + 1 - span.first))
        y, height = (n * _HEIGHT / scale.bytes for n in (span.byte, span.nbytes))
        title = f"{span.tensor}\nbytes {span.byte}-{span.byte + span.nbytes - 1}, instructions {span.first}-{span.last}"
        box = (_TIME_LEFT + x, _TOP + y, width, height)
        parts.append(rectangle(*box, f"tile h{hues.get(span.tensor, 0)}", element("title", escaped(title))))
        parts.append(_label(span.tensor, *box))
    size = f"0 0 {_LEFT + _WIDTH + 10} {bottom + 22}"
    return element("svg", *parts, viewBox=size, role="img", aria_label=label)


def _time_axes(scale: _Scale, end: int) -> Iterator[str]:
    for byte in _ticks(scale):
        y = _TOP + byte * _HEIGHT / scale.bytes
        yield stroke(_TIME_LEFT - 4, y, _TIME_LEFT, y)
        yield words(_TIME_LEFT - 6, y + 3, f"{byte:#x}", "y")
    for quarter in range(5):
        x = _TIME_LEFT + quarter * _TIME_WIDTH / 4
        anchor = "start" if quarter == 0 else "end" if quarter == 4 else "middle"
        yield words(
            x, _TOP + _HEIGHT + 14, f"{end * quarter // 4}{' instructions' if quarter == 4 else ''}", anchor=anchor
        )


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
            yield words(x + 3, bottom + 26, f"{bank * scale.space.bank:#x}")
        return
    for byte in _ticks(scale):
        x = scale.x(byte)
        anchor = "middle" if byte else "start"
        yield stroke(x, bottom, x, bottom + 4)
        yield words(x, bottom + 14, _amount(byte), anchor=anchor)
        yield words(x, bottom + 26, f"{byte:#x}", anchor=anchor)


def _ticks(scale: _Scale) -> Iterator[int]:
    """Places of a memory that are told: its banks, or powers of two apart, five to nine of them."""
    step = scale.space.bank or 1
    while not scale.space.bank and scale.bytes > 8 * step:
        step *= 2
    return iter(range(0, scale.bytes + (0 if scale.space.bank else 1), step))


def _amount(nbytes: int) -> str:
    """An amount of bytes as people say it."""
    return f"{nbytes / _KIB:g} KiB" if nbytes and nbytes % (_KIB // 4) == 0 else f"{nbytes} B"


def _legend(hues: dict[str, int]) -> str:
    entries = (
        element("li", element("span", class_=f"swatch h{hue}"), escaped(name or "<unnamed>"))
        for name, hue in hues.items()
    )
    return element("ul", *entries, class_="legend")
