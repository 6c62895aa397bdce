"""The picture of an address map: well formed, complete, legible on light and dark, safe whatever the names are."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest
from nki_migrate.golden import NKI_GOLDENS as GOLDENS
from nki_migrate.layout import run
from nki_migrate.layout_map import Map, Memory, mapped
from nki_migrate.layout_svg import drawn
from nki_migrate.runtime.cases import read_cases
from nki_migrate.runtime.compare import Program, Run, TileRow
from nki_migrate.runtime.events import Event, Operand
from nki_migrate.runtime.hazards import find
from nki_migrate.runtime.spec.hardware import PSUM_BANKS, TARGETS
from nki_migrate.runtime.spec.memory import MODEL

SVG = "{http://www.w3.org/2000/svg}"


def picture(capsys: pytest.CaptureFixture[str], golden: str, case: str | None = None) -> ElementTree.Element:
    kernel = read_cases(GOLDENS[golden].cases_path).cases[0].kernel
    assert run(GOLDENS[golden].before_path, kernel, case=case, output_format="svg") == 0
    return ElementTree.fromstring(capsys.readouterr().out)


def texts(root: ElementTree.Element) -> list[str]:
    return ["".join(node.itertext()) for node in root.iter(f"{SVG}text")]


def tips(root: ElementTree.Element, shape: str = "rect") -> list[str]:
    found = [node.find(f"{SVG}title") for node in root.iter(f"{SVG}{shape}")]
    return [title.text or "" for title in found if title is not None]


def made(*tiles: TileRow, touched: tuple[int, ...] = ()) -> Map:
    """A map of tiles that a run of one program declared; those of ``touched`` are written and read, in that order."""
    rows = {tile.uid: tile for tile in tiles}
    events = []
    for role in ("dst", "src"):
        for uid in touched:
            tile = rows[uid]
            steps = ((1, 0, tile.partitions), (0, 4, tile.nbytes // 4))
            place = Operand(role, tile.space, uid, tile.pinned, tile.partition or 0, tile.byte or 0, steps, "float32")
            events.append(Event(len(events) + 1, "memset", (place,), (), "k.py", 3))
    run = Run((), (Program(tiles, (), tuple(events)),))
    run = replace(run, hazards=find(run, TARGETS["gen3"]))
    return mapped(run, "kernel, case", MODEL, "gen3")


def tile(
    uid: int, name: str, byte: int | None, nbytes: int = 64, space: str = "sbuf", partitions: int = 128
) -> TileRow:
    partition = None if byte is None else 0
    return TileRow(uid, name, (), space, partition, byte, partitions, nbytes, "float32", "k.py", 2 + uid)


def test_every_golden_gives_a_well_formed_picture_without_anything_outside_it(capsys) -> None:  # type: ignore[no-untyped-def]
    for name in ("softmax_attention", "overlapping_tiles", "tile_operators", "psum_banks"):
        root = picture(capsys, name)
        width, height = (float(part) for part in root.attrib["viewBox"].split()[2:])
        for box in root.iter(f"{SVG}rect"):
            if "x" in box.attrib:
                x, y, w, h = (float(box.attrib[key]) for key in ("x", "y", "width", "height"))
                assert x >= 0 and x + w <= width + 1 and y >= 0 and y + h <= height + 1, (name, box.attrib)
        for text in root.iter(f"{SVG}text"):
            assert 0 <= float(text.attrib["x"]) <= width and 0 < float(text.attrib["y"]) <= height


def test_picture_says_what_the_text_says(capsys) -> None:  # type: ignore[no-untyped-def]
    root = picture(capsys, "overlapping_tiles", "four tiles")
    shown = texts(root)
    assert "two_phases, four tiles (gen3)" in shown
    assert any(text.startswith("6144 of 212984 bytes a partition (2.9 %)") for text in shown)
    assert "first[0] first[2]" in shown and "4 tiles in turns" in shown and "no hazards" in shown
    place = next(tip for tip in tips(root) if tip.startswith("first[1] first[3] second[0] second[2] 4 tiles in turns"))
    assert "partitions 0-127, bytes 2048-4095, float32, declared at before.py:15, before.py:18" in place
    assert any(re.fullmatch(r"second\[3\]: instructions \d+ to \d+", tip) for tip in tips(root))


def test_psum_has_its_eight_banks(capsys) -> None:  # type: ignore[no-untyped-def]
    shown = texts(picture(capsys, "psum_banks"))
    assert [text for text in shown if re.fullmatch(r"bank \d", text)] == 2 * [f"bank {n}" for n in range(PSUM_BANKS)]


def test_hazards_are_in_the_picture_and_on_standard_error(capsys) -> None:  # type: ignore[no-untyped-def]
    path = GOLDENS["lifetime_conflict"].before_path
    assert run(path, "overwritten", output_format="svg") == 0
    out, err = capsys.readouterr()
    root = ElementTree.fromstring(out)
    assert "1 hazard" in texts(root) and "4 tiles AT ONCE" in texts(root)
    assert any(text.startswith("[overwritten] 'tile[0]' is read after 'tile[6]'") for text in texts(root))
    assert "tile[0] and tile[2] share bytes, instructions 2 to 8" in tips(root)
    assert err.startswith("hazard [overwritten]: 'tile[0]' is read after")


@pytest.mark.parametrize("name", ["<b>&\"'", "]]>", "\x00\x1b[31m", "a" * 300, "日本", "</svg>"])
def test_names_stay_text(name: str) -> None:
    found = made(tile(0, name, 0), tile(1, name + "2", None), touched=(0, 1))
    root = ElementTree.fromstring(drawn(found))
    known = re.sub(r"[\x00-\x08\x0b-\x1f]", "�", name)
    assert any(tip.startswith(known) for tip in tips(root))
    assert {node.tag for node in root.iter()} <= {
        SVG + tag for tag in ("svg", "title", "style", "rect", "text", "line")
    }


def test_colours_are_one_a_tensor_and_change_with_the_readers_system() -> None:
    found = made(*(tile(n, f"t{n}", 64 * n) for n in range(24)), touched=tuple(range(24)))
    document = drawn(found)
    style = ElementTree.fromstring(document).find(f"{SVG}style")
    assert style is not None and style.text
    assert "prefers-color-scheme: dark" in style.text
    assert len(set(re.findall(r"\.(h\d+) \{", style.text))) == 24
    light, dark = (dict(re.findall(r"--(\w+): ([^;]+);", part)) for part in style.text.split("@media"))
    for colours in (light, dark):
        assert contrast(colours["ink"], colours["paper"]) > 10 and contrast(colours["soft"], colours["paper"]) > 4.5
        assert contrast(colours["bad"], colours["paper"]) > 4.5
        for hue in range(0, 360, 18):
            fill = hsl(hue, 0.65, float(colours["fill"].rstrip("%")) / 100)
            assert contrast(colours["ink"], fill) > 4.5, hue


def test_a_kernel_without_tiles_has_a_picture_too() -> None:
    assert "the kernel declares no tiles" in texts(ElementTree.fromstring(drawn(made())))


def test_small_and_unused_tiles_are_drawn() -> None:
    found = made(tile(0, "tiny", 200_000, 4), tile(1, "unused", 64))
    boxes = ElementTree.fromstring(drawn(found)).iter(f"{SVG}rect")
    sizes = [(float(box.attrib["width"]), box.attrib["class"]) for box in boxes if "tile" in box.attrib["class"]]
    assert all(width >= 0.8 for width, _ in sizes)
    assert any("unused" in classes for _, classes in sizes)


# --- the map itself --------------------------------------------------------------------------------------------------


def memory(found: Map, space: str) -> Memory:
    return next(memory for memory in found.memories if memory.space.name == space)


def test_places_say_who_takes_turns_and_who_overlaps() -> None:
    found = memory(made(tile(0, "a", 0), tile(1, "a", 0), tile(2, "b", 32), touched=(0,)), "sbuf")
    assert [(place.label, place.at_once, place.used) for place in found.places] == [
        ("a x2", False, True),
        ("b", False, False),
    ]
    assert [[other.tensor for other in place.overlaps] for place in found.places] == [["b"], ["a", "a"]]
    assert list(found.gaps()) == [(96, 212_984)]
    both = memory(made(tile(0, "a", 0), tile(1, "b", 0), touched=(0, 1)), "sbuf")
    assert both.places[0].at_once and both.mark.nbytes == 64


def test_high_water_counts_what_lives_at_once_wherever_it_is() -> None:
    found = made(
        tile(0, "a", None, 400), tile(1, "b", None, 400, partitions=32), tile(2, "c", 0, 100), touched=(0, 1, 2)
    )
    assert memory(found, "sbuf").mark.nbytes == 400 + 100 + 100
    assert memory(found, "sbuf").top == 100


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours (WCAG 2)."""
    bright, dim = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def hsl(hue: int, saturation: float, lightness: float) -> str:
    import colorsys

    red, green, blue = colorsys.hls_to_rgb(hue / 360, lightness, saturation)
    return f"#{round(red * 255):02x}{round(green * 255):02x}{round(blue * 255):02x}"


def test_strict_exits_with_one_where_there_are_hazards(capsys, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = GOLDENS["lifetime_conflict"].before_path
    assert run(path, "overwritten") == 0 and run(path, "overwritten", strict=True) == 1
    assert run(path, "overwritten", case="two tiles on two", strict=True) == 0
    assert run(path, "overwritten", output_format="json", strict=True) == 1
    assert "hazard [overwritten]" in capsys.readouterr().err
