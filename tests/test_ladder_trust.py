"""The ladder takes it from the rules from Beta 1 that they say what they do not know (NKV026, NKV038). They do: a part
of what may be a tile, and a pattern on what may be a part, end under a finding or a note, whatever makes them.

What leaves the files, as a result or for a function that is not seen, is of those who get it.
"""

from __future__ import annotations

import pytest
from nki_migrate.codemods import Options, Outcome, rewrite
from nki_migrate.runtime.spec.versions import NAMES

HEAD = "import neuronxcc.nki as nki\nimport neuronxcc.nki.isa as nisa\nimport neuronxcc.nki.language as nl\n\n\n"
KERNEL = """\
@nki.jit
def kernel(x, n):
    out = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x)
    part = {part}
    {body}
    nl.store(out, tile)
    return out
"""
HELPER = """\
def helper(part, n, tile):
    most = nl.zeros((128, 64), dtype=nl.float32, buffer=nl.sbuf)
    {body}
    return most
"""
PARTS = {
    "an attribute": "n.tile",
    "the result of a call": "n.make(x)",
    "an entry of a dictionary": "n.table['a']",
    "an item of a list": "n.tiles[1]",
    "one of two": "n.tile if n.choice else n.other",
    "a parameter": "",
}
INDEXED = {
    "an operand": "row = part[0]\ny = nl.add(row, row)",
    "a part again": "row = part[0]\nlow = row[0:32]\ny = nl.add(low, low)",
    "asked for its shape": "row = part[0]\nsize = row.shape[0]\ny = nl.zeros((128, size), dtype=nl.float32)",
    "asked at once": "size = part[0].shape[0]",
    "an unknown index": "row = part[n]\ny = nl.add(row, row)",
    "indexed twice": "y = nl.add(part[0][0:32], 1.0)",
    "an operand of an instruction": "row = part[0]\ny = nisa.tensor_copy(row)",
    "stored": "row = part[0]\nnl.store(x[0], row)",
    "reshaped": "row = part[0]\ny = nl.exp(row.reshape((8, 8)))",
}
PATTERNS = {
    "a method": "y = nl.add(part.broadcast_to((128, 8)), 1.0)",
    "a function": "y = nl.add(nl.broadcast_to(part, shape=(128, 8)), 1.0)",
    "of a part": "y = nl.add(part[0:128, 3:4].broadcast_to((128, 8)), 1.0)",
    "strided": "y = nl.add(part[0:128, nl.arange(8)[None, :] * 2], 1.0)",
    "by index vectors": "i = nl.arange(128)[:, None]\nj = nl.arange(8)[None, :]\ny = nl.exp(part[i, 63 - j])",
}


def migrated(part: str, body: str, target: str) -> Outcome:
    lines = body.replace("\n", "\n    ")
    text = KERNEL.format(part=part, body=lines) if part else HELPER.format(body=lines).replace("x[0]", "tile[0]")
    return rewrite(HEAD + text, Options(target=target, unsafe=True))


@pytest.mark.parametrize("target", NAMES[1:])
@pytest.mark.parametrize("use", sorted(INDEXED))
@pytest.mark.parametrize("part", sorted(PARTS))
def test_a_part_of_what_may_be_a_tile_is_not_passed_over(part: str, use: str, target: str) -> None:
    outcome = migrated(PARTS[part], INDEXED[use], target)
    assert outcome.findings or any("keeps the partition" in note.why for note in outcome.asserted), outcome.source


@pytest.mark.parametrize("use", sorted(PATTERNS))
@pytest.mark.parametrize("part", sorted(PARTS))
def test_a_pattern_on_what_may_be_a_part_is_not_passed_over(part: str, use: str) -> None:
    outcome = migrated(PARTS[part], PATTERNS[use], NAMES[-1])
    said = any(note.text == "'part' is a whole tensor" for note in outcome.asserted)
    assert said if "part.ap(" in outcome.source else outcome.findings, outcome.source


@pytest.mark.parametrize("handed", ["part", "part if n else tile"])
@pytest.mark.parametrize("target", NAMES)
def test_what_a_helper_that_nothing_calls_hands_on_is_not_told_either(handed: str, target: str) -> None:
    body = PATTERNS["by index vectors"].replace("\n", "\n    ")
    inner = f"def inner(part):\n    {body}\n    return y\n\n\n"
    outer = f"def outer(part, tile, n):\n    low = nl.exp(part)\n    high = nl.exp(tile)\n    return inner({handed})\n"
    outcome = rewrite(HEAD + inner + outer, Options(target=target, unsafe=True))
    said = any(note.text == "'part' is a whole tensor" for note in outcome.asserted)
    assert said if "part.ap(" in outcome.source else outcome.findings, outcome.source


@pytest.mark.parametrize("use", ["a method", "a function"])
def test_a_pattern_on_a_known_part_begins_where_the_part_does(use: str) -> None:
    outcome = migrated("tile[0:128, 3:4]", PATTERNS[use], "0.2")
    assert not outcome.findings and "tile.ap(" in outcome.source and "offset=3" in outcome.source
