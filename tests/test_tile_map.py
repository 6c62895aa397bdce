"""The rewrite's own map from old declarations to new ones, and what ``verify`` makes of it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from first_rung import Options, rewrite
from kept_outcomes import KeptOutcomes
from nki_migrate import golden
from nki_migrate.codemods.model import Moved
from nki_migrate.codemods.rules.registry import RULES
from nki_migrate.runtime.compare import TileMatch, TileRow
from nki_migrate.surfaces.annotations import of_proof
from nki_migrate.tile_map import mapped
from nki_migrate.verdicts import CaseResult, Proof, as_json, result_text

GOLDEN = Path(golden.__file__).parent
HEAD = "import neuronxcc.nki as nki\nimport neuronxcc.nki.isa as nisa\nimport neuronxcc.nki.language as nl\n"
KERNEL = """
@nki.jit
def sums(x):
    out = nl.ndarray((2, nl.par_dim(128), 8), dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray((2, nl.par_dim(128), 8), dtype=x.dtype, buffer=nl.sbuf)
    for i in nl.affine_range(2):
        t[i] = nl.load(x[i])
        nl.store(out[i], value=nl.add(t[i], nl.multiply(t[i], 2.0)))
    return out
"""


def moves(source: str, **options: object) -> list[tuple[str, str, str, str]]:
    """Names and texts of the declarations: (old name, old text, new name, new text)."""
    outcome = rewrite(source, Options(**options))  # type: ignore[arg-type]
    old, new = source.split("\n"), outcome.source.split("\n")
    return [(m.name, old[m.lines[0] - 1].strip(), m.new_name, new[m.new_lines[0] - 1].strip()) for m in outcome.moves]


@pytest.mark.parametrize(
    ("blocks", "line"),
    [
        ("list", "t.append(nl.ndarray((128, 8), dtype=x.dtype, buffer=nl.sbuf))"),
        ("fold", "t = nl.ndarray((128, 2, 8), dtype=x.dtype, buffer=nl.sbuf)"),
        ("loop", "t = nl.ndarray((128, 8), dtype=x.dtype, buffer=nl.sbuf)"),
    ],
)
def test_the_map_leads_from_a_block_tensor_to_what_became_of_it(blocks: str, line: str) -> None:
    declared, added, temporary = moves(HEAD + KERNEL, blocks=blocks)
    assert declared[0] == "t" and declared[1].startswith("t = nl.ndarray((2, nl.par_dim(128), 8)")
    assert declared[2:] == ("t", line)
    statement = "nl.store(out[i], value=nl.add(t[i], nl.multiply(t[i], 2.0)))"
    assert {added[:3], temporary[:3]} == {("", statement, "add_tile"), ("", statement, "t_scaled")}
    assert all(text.startswith(f"{name} = nl.ndarray(") for _, _, name, text in (added, temporary))


def test_declarations_that_read_the_same_keep_their_order() -> None:
    twice = HEAD + KERNEL + KERNEL.replace("def sums", "def others")
    found = [m for m in rewrite(twice).moves if m.name == "t"]
    assert [m.lines for m in found] == sorted(m.lines for m in found) and len(found) == 2
    assert found[0].new_lines < found[1].new_lines


def test_nothing_to_rewrite_has_no_map() -> None:
    assert rewrite("x = 1\n").moves == ()
    assert rewrite(rewrite(HEAD + KERNEL).source).moves == ()


@pytest.mark.parametrize("name", sorted({name for rule in RULES.values() for name in rule.goldens}))
def test_every_entry_is_a_declaration_of_the_output(name: str, rewritten: KeptOutcomes) -> None:
    outcome = rewritten((GOLDEN / name / "before.py").read_text(), Options())
    lines = outcome.source.split("\n")
    assert all(re.search(r"\.(ndarray|zeros)\(", lines[move.new_lines[0] - 1]) for move in outcome.moves)


# --- the map against the instructions --------------------------------------------------------------------------------


def row(name: str, line: int, *block: int, file: str = "k.py") -> TileRow:
    return TileRow(line, name, block, "sbuf", None, None, 128, 64, "float32", file, line)


def entries(*moved: Moved) -> dict[str, tuple[Moved, ...]]:
    return {str(Path("k.py").resolve()): moved}


MAP = entries(Moved("t", (5, 6), "t", (8, 10)), Moved("", (9, 9), "exp_tile", (14, 14)))


@pytest.mark.parametrize(
    ("old", "new", "how"),
    [
        (row("t", 5, 0), row("t", 9, 0), "map"),
        (row("t", 6, 1), row("t", 8), "map"),
        (row("t", 5, 0), row("t", 9, 1), "contradiction"),
        (row("t", 5, 0), row("u", 12, 0), "contradiction"),
        (row("", 9), row("exp_tile", 14), "map"),
        (row("", 9), row("other", 15), "operands"),
        (row("u", 7), row("u", 12), "operands"),
        (row("t", 5, 0, file="helper.py"), row("t", 12, 0), "operands"),
    ],
)
def test_a_pair_that_the_instructions_tell_is_judged_by_the_map(old: TileRow, new: TileRow, how: str) -> None:
    (match,) = mapped([TileMatch(0, old, new, "operands")], MAP)
    assert match.how == how and bool(match.said) == (how == "contradiction")
    assert mapped([TileMatch(0, old, new, "operands")], {}) == (TileMatch(0, old, new, "operands"),)


def test_tiles_that_no_instruction_touches_are_matched_by_the_map() -> None:
    lone = [TileMatch(0, row("t", 5, 1), None, "unmatched"), TileMatch(0, row("t", 5, 0), None, "unmatched")]
    lone += [TileMatch(0, None, row("t", 9, 0), "unmatched"), TileMatch(0, None, row("u", 12, 1), "unmatched")]
    found = mapped(lone, MAP)
    assert [(m.how, m.before and m.before.label, m.after and m.after.label) for m in found] == [
        ("unmatched", "t[1]", None),
        ("map", "t[0]", "t[0]"),
        ("unmatched", None, "u[1]"),
    ]


def test_a_contradiction_is_said_everywhere() -> None:
    matches = mapped([TileMatch(0, row("t", 5, 0), row("u", 12, 0), "operands")], MAP)
    result = CaseResult("k.py", "k.py", "sums", labels=("", "rewritten"), matches=matches)
    (note,) = of_proof(Proof((result,)))
    assert (note.code, note.line) == ("NKM108", 5)
    assert note.message == (
        "the instructions put 'u[0]' (k.py:12 (rewritten)) in the place of 't[0]', the rewrite's map says 't' (line 8)"
    )
    assert json.loads(as_json(Proof((result,))))["results"][0]["tiles"][0]["map_says"] == "'t' (line 8)"
    from nki_migrate.runtime.compare import LevelVerdict, Verdict

    shown = result_text(replace(result, levels=(LevelVerdict("operands", Verdict.EQUAL, "same"),)))
    assert "inferred from the instructions, but the rewrite's map says 't' (line 8)" in shown
