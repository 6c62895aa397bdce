"""What a page says beside the verdicts: hazards of either version, and which tile stands for which."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from nki_migrate.runtime.hazards import KINDS

from ..output import plural, shown
from ..verdicts import how_matched
from .annotations import source_path, titled
from .markup import element, escaped

if TYPE_CHECKING:
    from nki_migrate.runtime.compare import TileMatch, TileRow
    from nki_migrate.runtime.hazards import Hazard

    from ..verdicts import CaseResult

_MOST_TILES = 500
_Seen = tuple[str, tuple[str, ...], str]


def hazards(results: Iterable[CaseResult]) -> str:
    """The hazards of all cases by kind, those of the new version alone first; empty if there are none."""
    by_kind: dict[str, dict[str, None]] = {kind: {} for kind in KINDS}
    for result in results:
        sides = [{_seen(hazard, result.kernel) for hazard in found} for found in result.hazards]
        for after, found in ((True, result.hazards[1]), (False, result.hazards[0])):
            for hazard in found:
                both = all(_seen(hazard, result.kernel) in side for side in sides)
                if after or not both:
                    where = "both versions" if both else "new version only" if after else "old version only"
                    by_kind[hazard.kind][_item(hazard, where, titled(result))] = None
    groups = [
        element("details", element("summary", element("b", escaped(kind)), f" × {len(items)} ", escaped(KINDS[kind])),
                element("ul", *sorted(items, key=lambda item: "new version only" not in item), class_="places"))
        for kind, items in by_kind.items()
        if items
    ]  # fmt: skip
    note = "They run here, and hardware may do something else. No verdict depends on them."
    return element("section", element("h2", "Hazards"), element("p", note, class_="note"), *groups) if groups else ""


def _seen(hazard: Hazard, kernel: str) -> _Seen:
    """What makes a hazard of one version the same as one of the other."""
    return hazard.kind, hazard.names, kernel


def _item(hazard: Hazard, where: str, title: str) -> str:
    places = (hazard.first, hazard.second)
    lines = ", ".join(dict.fromkeys(f"{shown(source_path(place.file))}:{place.line}" for place in places))
    return element("li", element("b", escaped(where)), " ", element("code", escaped(lines)), " ",
                   escaped(f"{title}: {hazard.message}"))  # fmt: skip


def tiles(matches: Sequence[TileMatch]) -> str:
    """Which new tile stands for which old one, folded away; empty where nothing was matched."""
    if not matches:
        return ""
    rows = [
        element("tr", *(element("td", cell) for cell in (_tile(m.before), _tile(m.after), escaped(_how(m)))))
        for m in matches[:_MOST_TILES]
    ]
    heading = element("tr", *(element("th", title, scope="col") for title in ("before", "after", "how it is known")))
    hidden = len(matches) - len(rows)
    more = element("p", f"and {hidden} more", class_="note") if hidden else ""
    table = element("table", element("thead", heading), element("tbody", *rows), class_="overview")
    summary = element("summary", f"Tiles: {plural(len(matches), 'pair')}")
    return element("details", summary, element("div", table, class_="scroll"), more)


def _tile(tile: TileRow | None) -> str:
    if tile is None:
        return element("span", "–", class_="none")
    place = "no address" if tile.byte is None else f"{tile.space} {tile.partition}:{tile.byte}"
    return element("code", escaped(tile.label)) + escaped(f" {place}, line {tile.line}")


def _how(match: TileMatch) -> str:
    if match.how == "added":
        return "new: a declared instruction writes it"
    return how_matched(match) if match.before is not None and match.after is not None else match.how
