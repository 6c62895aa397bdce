"""The address map of a run as a picture: SVG by itself, light or dark as the reader's system is.

Each memory has a gauge (how much of it is used), a map (bytes to the right, partitions downwards; PSUM by banks) and
the lives of its values (instructions to the right, addresses downwards). A tensor has one colour everywhere. What is
too small for a label has it in its tooltip.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from nki_migrate.runtime.compare import TileRow
from nki_migrate.runtime.hazards import Hazard, Life, concurrent

from .layout_map import Map, Memory, Place, labels
from .surfaces.markup import element, escaped, rectangle, stroke, words

_WIDTH, _LEFT, _RIGHT = 1200, 92, 20
_PLOT = _WIDTH - _LEFT - _RIGHT
_MAP_HEIGHT, _LIFE_HEIGHT, _LANE, _MOST_LANES = 200, 240, 15, 24
_AXES = ("Where: bytes to the right", "Where: bytes of a partition to the right, partitions downwards")
"""What a map shows of a memory that is one range of bytes, and of one of partitions."""
_CHARACTER = 6.4
"""Width of a character of the small type, in pixels: an average."""
_HUES = (212, 28, 145, 330, 265, 55, 185, 0, 95, 300)
_STYLE = """
svg { color-scheme: light dark; --paper: #ffffff; --ink: #1f2328; --soft: #59636e; --line: #d1d9e0; --well: #f3f5f7;
  --bad: #cf222e; --fill: 80%; --edge: 42%; font: 12px system-ui, sans-serif; background: var(--paper); }
@media (prefers-color-scheme: dark) {
  svg { --paper: #0d1117; --ink: #e6edf3; --soft: #9198a1; --line: #3d444d; --well: #161b22; --bad: #ff7b72;
    --fill: 25%; --edge: 62%; }
}
text { fill: var(--ink); } .soft { fill: var(--soft); } .title { font-size: 18px; font-weight: 600; }
.head { font-size: 14px; font-weight: 600; } .small { font-size: 11px; } .end { text-anchor: end; }
.middle { text-anchor: middle; } .well { fill: var(--well); stroke: var(--line); } .paper { fill: var(--paper); }
.grid { stroke: var(--line); } .tile { fill-opacity: .85; } text.bad { fill: var(--bad); font-weight: 600; }
.mark { stroke: var(--bad); stroke-width: 1.5; }
"""
_STATES = """.clash { stroke: var(--bad); stroke-width: 2; } .unused { fill-opacity: .25; stroke-dasharray: 4 3; }
.meet { fill: var(--bad); fill-opacity: .22; stroke: none; }
"""
"""Written after the colours of the tensors, which they override."""


def drawn(found: Map) -> str:
    """The whole picture, an SVG document."""
    painter = _Painter(found)
    return painter.document()


class _Painter:
    """Draws from the top down: ``y`` is where the next part begins."""

    def __init__(self, found: Map) -> None:
        self.map = found
        self.parts: list[str] = []
        self.labels: list[str] = []
        self.y = 0.0
        tensors = dict.fromkeys(tile.tensor for m in found.memories for tile in _tiles(m))
        self.hues = {name: (_HUES[number % 10] + number // 10 * 18) % 360 for number, name in enumerate(tensors)}
        self.clashing = {name for hazard in found.hazards for name in hazard.tensors}

    def document(self) -> str:
        programs = f", program 0 of {self.map.programs}" if self.map.programs > 1 else ""
        self._text(20, 30, f"{self.map.title} ({self.map.hardware})", "title")
        self._text(20, 50, f"{self.map.events} instructions{programs}", "soft")
        self.y = 70
        self._legend()
        for memory in self.map.memories:
            self._memory(memory)
        if not self.map.memories:
            self._text(20, self.y + 10, "the kernel declares no tiles", "soft")
            self.y += 30
        self._hazards(self.map.hazards)
        size = f"0 0 {_WIDTH} {self.y + 10:.0f}"
        paper = element("rect", width="100%", height="100%", class_="paper")
        return element(
            "svg",
            element("title", escaped(f"Address map of {self.map.title}")),
            element("style", _STYLE + self._colours() + _STATES),
            paper,
            *self.parts,
            xmlns="http://www.w3.org/2000/svg",
            viewBox=size,
            width=_WIDTH,
            height=f"{self.y + 10:.0f}",
            role="img",
        )

    def _colours(self) -> str:
        return "".join(
            f".h{hue} {{ fill: hsl({hue} 65% var(--fill)); stroke: hsl({hue} 60% var(--edge)); }}\n"
            for hue in sorted(set(self.hues.values()))
        )

    def _legend(self) -> None:
        """The colour of each tensor, in rows as wide as the picture."""
        counts: dict[str, int] = {}
        for memory in self.map.memories:
            for tile in _tiles(memory):
                counts[tile.tensor] = counts.get(tile.tensor, 0) + 1
        x = 20.0
        for tensor, count in counts.items():
            name = f"{_short(tensor, 40)}{f' ({count})' if count > 1 else ''}"
            width = 26 + len(name) * _CHARACTER
            if x + width > _WIDTH - _RIGHT:
                x, self.y = 20.0, self.y + 18
            self._box(x, self.y - 10, 12, 12, tensor, f"{tensor}: {count} tiles")
            self._text(x + 17, self.y, name, "small")
            x += width + 8
        self.y += 18 if counts else 0

    # --- one memory ---------------------------------------------------------------------------------------------------

    def _memory(self, memory: Memory) -> None:
        self._text(20, self.y + 14, memory.space.title, "head")
        self._text(_LEFT, self.y + 14, f"{memory.use}; {memory.needs}")
        self._gauge(memory, self.y + 24)
        self.y += 58
        if memory.places:
            self._caption(_AXES[memory.space.rows > 1])
            self._map(memory)
            self._caption("When: instructions to the right, addresses downwards; red where two values share bytes")
            self._lives(memory)
        if memory.loose:
            self._loose(memory)
        self.y += 16

    def _caption(self, text: str) -> None:
        self._text(_LEFT, self.y - 4, text, "soft small")

    def _gauge(self, memory: Memory, y: float) -> None:
        """A bar as long as the memory: what has an address is filled, a line is the high-water mark."""
        self.parts.append(element("rect", x=_LEFT, y=y, width=_PLOT, height=10, rx=3, class_="well"))
        for place in memory.places:
            x, width = place.first / memory.limit * _PLOT, max(place.where[3] / memory.limit * _PLOT, 1)
            tensor = place.tiles[0].tensor
            self._box(_LEFT + x, y, width, 10, tensor, f"{place.label}: {_where(memory, place)}")
        x = _LEFT + min(memory.mark.nbytes / memory.limit, 1) * _PLOT
        self.parts.append(stroke(x, y - 3, x, y + 13, "mark", element("title", escaped(memory.needs))))
        self._text(_LEFT - 8, y + 9, "used", "soft small end")

    def _map(self, memory: Memory) -> None:
        top, height, y = _shown(memory), _MAP_HEIGHT, self.y
        self._frame(memory, top, y, height)
        under: list[Place] = []
        for place in sorted(memory.places, key=lambda place: -place.where[2] * place.where[3]):
            first, partition, partitions, nbytes = place.where
            down = 30 * sum(other.first < place.end and place.first < other.end for other in under)
            under.append(place)
            x, width = _LEFT + first * _PLOT / top, nbytes * _PLOT / top
            rows = memory.space.rows
            box = (x, y + partition * height / rows, width, partitions * height / rows)
            classes = "" if place.used else "unused"
            classes += " clash" if place.at_once else ""
            what = f"{_where(memory, place)}, {place.tiles[0].dtype}, {_declared(place.tiles)}"
            tip = f"{place.label}{_turns(place)}: {what}"
            self._box(*box, place.tiles[0].tensor, tip, classes)
            self._label(place.label, box[0], box[1] + down, box[2], box[3] - down)
            if len(place.tiles) > 1:
                classes = "small bad" if place.at_once else "small"
                self._label(_turns(place).strip(), box[0], box[1] + down + 14, box[2], box[3] - down - 14, classes)
        self._show_labels()
        self.y += height + 44

    def _frame(self, memory: Memory, top: int, y: float, height: float) -> None:
        """The well of a map, with partitions at its left and bytes, or banks, below."""
        self.parts.append(element("rect", x=_LEFT, y=y, width=_PLOT, height=height, class_="well"))
        if memory.space.rows > 1:
            for quarter in range(5):
                at = y + quarter * height / 4
                self._line(_LEFT, at, _LEFT + _PLOT, at)
                self._text(_LEFT - 8, at + 4, str(quarter * memory.space.rows // 4), "soft small end")
            self._text(14, y + height / 2 + 4, "partitions", "soft small")
        if memory.space.bank:
            banks = memory.limit // memory.space.bank
            for bank in range(banks):
                x = _LEFT + bank * _PLOT / banks
                self._line(x, y, x, y + height)
                self._text(x + _PLOT / banks / 2, y + height + 14, f"bank {bank}", "soft small middle")
            return
        for byte in _ticks(top):
            x = _LEFT + byte * _PLOT / top
            self._line(x, y + height, x, y + height + 4)
            self._text(x, y + height + 16, str(byte), "soft small middle")
        self._text(14, y + height + 16, "bytes", "soft small")

    # --- lives --------------------------------------------------------------------------------------------------------

    def _lives(self, memory: Memory) -> None:
        """Addresses downwards, instructions to the right: where two values meet, two tiles share bytes at once."""
        y, height, top = self.y, _LIFE_HEIGHT, _shown(memory)
        self._time_frame(y, height)
        if memory.space.bank:
            banks = memory.limit // memory.space.bank
            for bank in range(banks):
                self._line(_LEFT, y + bank * height / banks, _LEFT + _PLOT, y + bank * height / banks)
                self._text(_LEFT - 8, y + (bank + 0.5) * height / banks + 4, f"bank {bank}", "soft small end")
        else:
            for byte in _ticks(top, 5):
                self._line(_LEFT, y + byte * height / top, _LEFT + _PLOT, y + byte * height / top)
                self._text(_LEFT - 8, y + byte * height / top + 4, str(byte), "soft small end")
        for life in memory.lives:
            tile = life.tile
            if tile.byte is not None:
                box = (tile.byte * height / top, max(tile.nbytes, 1) * height / top)
                self._life(life, y + box[0], box[1])
        for a, b in concurrent(life for life in memory.lives if life.tile.pinned and life.was_read):
            self._meeting(a, b, y, height / top)
        self._show_labels()
        self.y += height + 36

    def _meeting(self, a: Life, b: Life, y: float, scale: float) -> None:
        """Two values that live at the same time: the bytes that they share, while they do."""
        first = max(a.box[2], b.box[2])
        end = min(a.box[3], b.box[3])
        if end <= first or min(a.box[1], b.box[1]) <= max(a.box[0], b.box[0]):
            return
        start, stop = max(a.first, b.first), min(a.last, b.last) + 1
        tip = f"{a.tile.label} and {b.tile.label} share bytes, instructions {start} to {stop - 1}"
        x, width = _LEFT + self._time(start), self._time(stop - start)
        where = {"x": x, "y": y + first * scale, "width": width, "height": max((end - first) * scale, 0.8)}
        shape = {key: f"{value:.2f}" for key, value in where.items()}
        self.parts.append(element("rect", element("title", escaped(tip)), **shape, class_="meet"))

    def _time_frame(self, y: float, height: float) -> None:
        self.parts.append(element("rect", x=_LEFT, y=y, width=_PLOT, height=height, class_="well"))
        for number in _ticks(self.map.events):
            x = _LEFT + self._time(number)
            self._line(x, y + height, x, y + height + 4)
            self._text(x, y + height + 16, str(number), "soft small middle")
        self._text(14, y + height + 16, "instruction", "soft small")

    def _time(self, index: float) -> float:
        return index * _PLOT / max(self.map.events, 1)

    def _life(self, life: Life, y: float, height: float) -> None:
        x, width = _LEFT + self._time(life.first), self._time(life.last + 1 - life.first)
        label = life.tile.label
        state = "" if life.was_read else "unused"
        clash = " clash" if label in self.clashing else ""
        tip = f"{label}: instructions {life.first} to {life.last}{'' if life.was_read else ', never read'}"
        self._box(x, y, width, height, life.tile.tensor, tip, state + clash)
        self._label(label, x, y, width, height)

    def _loose(self, memory: Memory) -> None:
        """Tiles without an address: one lane a tensor."""
        by_tensor: dict[str, list[Life]] = {}
        uids = {tile.uid for tile in memory.loose}
        for life in memory.lives:
            if life.tile.uid in uids:
                by_tensor.setdefault(life.tile.tensor, []).append(life)
        self._text(_LEFT, self.y + 2, f"{len(memory.loose)} tiles without an address: the compiler places them", "soft")
        self.y += 10
        lanes = list(by_tensor.items())[:_MOST_LANES]
        self._time_frame(self.y, _LANE * max(len(lanes), 1))
        for number, (tensor, values) in enumerate(lanes):
            y = self.y + number * _LANE
            self._text(_LEFT - 8, y + 11, _short(tensor, 13), "small end")
            for life in values:
                self._life(life, y + 1, _LANE - 2)
        self._show_labels()
        self.y += _LANE * max(len(lanes), 1) + 36
        if len(by_tensor) > len(lanes):
            self._text(_LEFT, self.y - 8, f"and {len(by_tensor) - len(lanes)} more tensors", "soft")
            self.y += 12

    # --- hazards, and the pieces --------------------------------------------------------------------------------------

    def _hazards(self, hazards: Sequence[Hazard]) -> None:
        if not hazards:
            self._text(20, self.y + 4, "no hazards", "soft")
            self.y += 16
            return
        self._text(20, self.y + 4, f"{len(hazards)} hazard{'' if len(hazards) == 1 else 's'}", "head bad")
        self.y += 22
        for hazard in hazards:
            for line in _wrapped(f"[{hazard.kind}] {hazard.message}", 170):
                self._text(20, self.y, line, "bad")
                self.y += 16
            for place in dict.fromkeys((hazard.first, hazard.second)):
                self._text(36, self.y, f"{os.path.basename(place.file)}:{place.line}: {place.what}", "soft small")
                self.y += 15
            self.y += 5

    def _text(self, x: float, y: float, text: str, classes: str = "") -> None:
        self.parts.append(words(x, y, text, classes))

    def _line(self, x1: float, y1: float, x2: float, y2: float) -> None:
        self.parts.append(stroke(x1, y1, x2, y2, "grid"))

    def _box(self, x: float, y: float, width: float, height: float, tensor: str, tip: str, classes: str = "") -> None:
        look = f"tile h{self.hues[tensor]} {classes}".strip()
        self.parts.append(rectangle(x, y, width, height, look, element("title", escaped(tip))))

    def _label(self, text: str, x: float, y: float, width: float, height: float, classes: str = "small") -> None:
        """``text`` in a box, as far as it fits."""
        room = int((width - 6) / _CHARACTER)
        if height < 11 or room < min(len(text), 3):
            return
        boxes, self.parts = self.parts, self.labels
        self._text(x + 4, y + min(height / 2 + 4, 14), _short(text, room), classes)
        self.parts = boxes

    def _show_labels(self) -> None:
        """Put the labels over the boxes that were drawn since the last time."""
        self.parts += self.labels
        self.labels.clear()


def _short(text: str, room: int) -> str:
    """``text`` in at most ``room`` characters."""
    return text if len(text) <= room else f"{text[: room - 1]}…"


def _tiles(memory: Memory) -> Iterable[TileRow]:
    yield from (tile for place in memory.places for tile in place.tiles)
    yield from memory.loose


def _shown(memory: Memory) -> int:
    """The bytes that a map shows: all of a memory with banks, of any other what is used."""
    return memory.limit if memory.space.bank else max(memory.top, 1)


def _where(memory: Memory, place: Place) -> str:
    first, partition, partitions, nbytes = place.where
    size = memory.space.bank
    bank, start = (f"bank {first // size}, ", first % size) if size else ("", first)
    rows = f"partitions {partition}-{partition + partitions - 1}, " if memory.space.rows > 1 else ""
    return f"{bank}{rows}bytes {start}-{start + nbytes - 1}"


def _turns(place: Place) -> str:
    if len(place.tiles) < 2:
        return f", overlaps {labels(place.overlaps)}" if place.overlaps else ""
    return f" {len(place.tiles)} tiles {'AT ONCE' if place.at_once else 'in turns'}"


def _declared(tiles: Sequence[TileRow]) -> str:
    return "declared at " + ", ".join(dict.fromkeys(f"{os.path.basename(tile.file)}:{tile.line}" for tile in tiles))


def _ticks(top: int, most: int = 10) -> Iterator[int]:
    """Round numbers from 0 up to ``top``, at most about ``most``."""
    step = 1
    while top / step > most:
        step = step * 2 if str(step)[0] != "2" else step * 5 // 2
    return iter(range(0, top + 1, step))


def _wrapped(text: str, width: int) -> Iterator[str]:
    line = ""
    for word in text.split(" "):
        if line and len(line) + len(word) >= width:
            yield line
            line = "    "
        line = f"{line} {word}" if line.strip() else line + word
    yield line
