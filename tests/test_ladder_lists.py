"""Lists of tiles, and lists of such lists, as the ladder reads them: a tile out of one has the rank of all of them."""

from __future__ import annotations

import pytest
from nki_migrate.codemods import Options, rewrite
from nki_migrate.codemods.ladder.rules.reduce_axes import CODE
from test_ladder_rules import body_of, kernel, written

MADE = "nl.ndarray((128, 4, 8), dtype=nl.float32, buffer=nl.sbuf)"
REDUCED = "nisa.tensor_reduce(dst=other, op=nl.add, data={tile}, axis=1)"


@pytest.mark.parametrize(
    ("lines", "tile"),
    [
        ((f"tiles = [{MADE}]",), "tiles[0]"),
        (("tiles = []", f"tiles.append({MADE})"), "tiles[0]"),
        (("tiles = []", "for i in range(2):", "    tiles.append([])", f"    tiles[i].append({MADE})"), "tiles[1][0]"),
        (("tiles = [[], []]", f"tiles[0].append({MADE})"), "tiles[0][0]"),
        ((f"tiles = [[{MADE}], [{MADE}]]",), "tiles[1][0]"),
        (("tiles = []", "tiles.append([])", "tiles[0].append([])", f"tiles[0][0].append({MADE})"), "tiles[0][0][0]"),
    ],
    ids=str,
)
def test_tiles_of_lists_have_a_rank(lines: tuple[str, ...], tile: str) -> None:
    source = kernel("\n".join([*lines, REDUCED.format(tile=tile)]))
    assert CODE not in {finding.code for finding in rewrite(source, Options(source="0.2", target="0.6")).findings}
    outcome = written(source, CODE)
    assert ".shape" not in body_of(outcome) and "axis=2" in body_of(outcome)


@pytest.mark.parametrize(
    "lines",
    [
        ("tiles = []", "for i in range(2):", "    tiles.append([])"),  # nothing is in it
        ("tiles = [[]]", f"tiles[0].append({MADE})", "tiles.append(x)"),  # a list, and something else
    ],
)
def test_what_is_not_known_of_lists_is_not_guessed(lines: tuple[str, ...]) -> None:
    source = kernel("\n".join([*lines, REDUCED.format(tile="tiles[0][0]")]))
    text = rewrite(source, Options(source="0.2", target="0.6", unsafe=True))
    assert text.source == source or ".shape" in text.source or text.findings


def test_names_that_are_bound_to_each_other_end() -> None:
    """What one index is was asked of the other, and of the first again."""
    lines = f"tiles = {MADE}", "b = 0", "b_2 = b", "b = b_2", REDUCED.format(tile="tiles[:, b]")
    assert "len(tiles[:, b].shape)" in rewrite(kernel("\n".join(lines)), Options(source="0.2")).source
