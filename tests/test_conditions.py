"""*equal* says which sides of conditions no case took, and keeps saying it from the cache."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from nki_migrate.surfaces.junit import of_proof
from nki_migrate.verdicts import Proof, as_json, as_text
from nki_migrate.verify_command import Asked, verified

OLD = """
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def scaled(x):
    rows, columns = x.shape
    assert columns % 2 == 0
    if columns > 512:
        raise ValueError("too wide")
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    factor = 2.0 if rows > 4 else 3.0
    nl.store(out, value=nl.multiply(nl.load(x), factor))
    return out
"""
NEW = """
import nki
import nki.isa as nisa
import nki.language as nl


def factor_of(rows, columns):
    if rows > 4 and columns != 6:
        return 2.0
    return {other}


@nki.jit
def scaled(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    u = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=u, data=t, op0=nl.multiply, operand0=factor_of(x.shape[0], x.shape[1]))
    nisa.dma_copy(dst=out, src=u)
    return out
"""


@pytest.fixture
def compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    Path("before.py").write_text(OLD)

    def run(shapes: list[list[int]], *, strict: bool = False, other: str = "3.0", search: float | None = None) -> Proof:
        Path("after.py").write_text(NEW.format(other=other))
        cases = [f'[[case]]\nkernel = "scaled"\n[case.args]\nx = {{shape = {s}, dtype = "float32"}}\n' for s in shapes]
        Path("cases.toml").write_text("".join(cases))
        return verified(Asked(("before.py", "after.py"), jobs=2, cache_dir="kept", strict=strict, search=search)).proof

    return run


def test_one_case_shows_one_side(compared) -> None:  # type: ignore[no-untyped-def]
    for _ in range(2):  # the second answer is from the cache
        proof = compared([[8, 4]])
        (note,) = proof.notes
        assert note == (
            "before.py: scaled: no case shows the other side of before.py:14 `rows > 4`, always true; "
            "after.py:8 `rows > 4`, always true; after.py:8 `columns != 6`, always true"
        )
        assert proof.exit_code == 0 and f"note: {note}" in as_text(proof)
        assert json.loads(as_json(proof))["notes"] == [note]


def test_cases_together_show_both(compared) -> None:  # type: ignore[no-untyped-def]
    proof = compared([[8, 4], [2, 4]])
    assert proof.notes == ("before.py: scaled: no case shows the other side of after.py:8 `columns != 6`, always true",)


def test_strict_is_undecided(compared) -> None:  # type: ignore[no-untyped-def]
    proof = compared([[8, 4]], strict=True)
    assert [result.verdict.value for result in proof.results] == ["equal", "undecided"]
    assert proof.exit_code == 2
    assert "no case shows the other side" in proof.results[1].problems[0].message


def test_nothing_is_said_of_what_is_not_equal(compared) -> None:  # type: ignore[no-untyped-def]
    proof = compared([[2, 4]], other="4.0")
    assert [result.verdict.value for result in proof.results] == ["different"]
    assert proof.notes == ()


WAYS_OLD = """
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


def is_wide(columns):
    return columns > 64


@nki.jit
def scaled(x):
    rows, columns = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    wide = is_wide(columns)
    tall: bool = rows > 100
    tile = nl.load(x[0:min(rows, 100)])
    for i in nl.affine_range(columns // 32):
        tile[...] = nl.add(tile, tile)
    for name in ("a", "b"):
        tile[...] = nl.add(tile, 1.0)
    nl.store(out[0:min(100, rows)], value=nl.multiply(tile, 2.0 if wide or tall else max(columns, 3) * 1.0))
    return out
"""


@pytest.mark.parametrize(
    ("shapes", "missed"),
    [
        (
            ["[8, 4]"],
            [
                "8 `columns > 64`, always false",
                "16 `rows > 100`, always false",
                "17 `min(rows, 100)`, always the first",
                "18 `for i in nl.affine_range(columns // 32)`, never run",
                "22 `min(100, rows)`, always the second",
                "22 `wide`, always false",
                "22 `tall`, always false",
                "22 `max(columns, 3)`, always the first",
            ],
        ),
        (
            ["[8, 2]", "[100, 96]"],
            [
                "16 `rows > 100`, always false",
                "17 `min(rows, 100)`, always the first",
                "22 `min(100, rows)`, always the second",
                "22 `tall`, always false",
                "22 `max(columns, 3)`, always the second",
            ],
        ),
    ],
)
def test_values_of_comparisons_loops_and_choices_are_conditions(tmp_path, monkeypatch, shapes, missed):
    monkeypatch.chdir(tmp_path)
    Path("before.py").write_text(WAYS_OLD)
    Path("after.py").write_text(WAYS_OLD)
    cases = [f'[[case]]\nkernel = "scaled"\n[case.args]\nx = {{shape = {s}, dtype = "float32"}}\n' for s in shapes]
    Path("cases.toml").write_text("".join(cases))
    proof = verified(Asked(("before.py", "after.py"), jobs=1, no_cache=True)).proof
    found = [note.partition("side of ")[2] for note in proof.notes]
    assert found, proof
    monkeypatch.setattr("nki_migrate.unseen._SHOWN", 99)
    proof = verified(Asked(("before.py", "after.py"), jobs=1, no_cache=True)).proof
    (note,) = proof.notes
    said = [text for text in note.partition("side of ")[2].split("; ") if text.startswith("before.py")]
    assert said == [f"before.py:{text}" for text in missed]
    assert f"<system-out>{note[:20]}" in of_proof(proof)


def test_what_a_search_shows_is_seen(compared) -> None:  # type: ignore[no-untyped-def]
    other = "2.0 if rows > 4 else 3.0"
    assert any("rows > 4" in note for note in compared([[8, 4]], other=other).notes)
    proof = compared([[8, 4]], search=0.0, other=other)
    assert "none disagrees" in proof.notes[0]
    assert not any("rows > 4" in note for note in proof.notes), proof.notes


PLACES = """
import {nki} as nki
import {nki}.isa as nisa
import {nki}.language as nl


def at(i):
    return i


@nki.jit
def scaled(x):
    rows, columns = x.shape
    flags = [False, False]
    n = 1
    flags[0] = rows > 100
    flags[n] = columns > 100
    flags[at(n)] = columns > 200
    flags[at(0) + n - 1] = rows > 300
    named = dict()
    named["odd"] = rows == 7
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
{body}
    return out
"""
BODIES = {
    "neuronxcc.nki": """
    a = nl.load(x)
    b = nl.ndarray((nl.par_dim(rows), columns), dtype=x.dtype, buffer=nl.sbuf)
    b[...] = a > 0
    nl.store(out, value=b)""",
    "nki": """
    a = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=x)
    b = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=b, data=a, op0=nl.greater, operand0=0)
    nisa.dma_copy(dst=out, src=b)""",
}


def test_comparisons_that_elements_of_lists_and_dictionaries_hold_are_conditions(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("nki_migrate.unseen._SHOWN", 99)
    for name, nki in (("before.py", "neuronxcc.nki"), ("after.py", "nki")):
        Path(name).write_text(PLACES.format(nki=nki, body=BODIES[nki]))
    Path("cases.toml").write_text('[[case]]\nkernel = "scaled"\n[case.args]\nx = {shape = [8, 4], dtype = "float32"}\n')
    proof = verified(Asked(("before.py", "after.py"), jobs=1, no_cache=True)).proof
    assert [result.verdict.value for result in proof.results] == ["equal"], as_text(proof)
    (note,) = proof.notes
    for file in ("before.py", "after.py"):
        for text in ("rows > 100", "columns > 100", "columns > 200", "rows > 300", "rows == 7"):
            line = next(n for n, said in enumerate(PLACES.split("\n"), 1) if said.endswith(text))
            assert f"{file}:{line} `{text}`, always false" in note


ONCE = """
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

ORDER = []


def noted(value):
    ORDER.append(value)
    return value


@nki.jit
def scaled(x):
    flags, tiles = [False, False], [None]
    noted(flags)[noted(0) + noted(1)] = noted(3) > 100
    for i in nl.affine_range(2):
        tiles[noted(0)] = nl.load(x) > 0
    assert len(ORDER) in (5, 6) and ORDER[:4] == [3, flags, 0, 1], ORDER
    out = nl.ndarray(x.shape, dtype=nl.uint8, buffer=nl.shared_hbm)
    nl.store(out, value=tiles[0] if not flags[1] else nl.load(x))
    return out
"""


def test_a_place_that_calls_tell_is_asked_and_computed_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("before.py", "after.py"):
        Path(name).write_text(ONCE)
    Path("cases.toml").write_text('[[case]]\nkernel = "scaled"\n[case.args]\nx = {shape = [8, 4], dtype = "float32"}\n')
    proof = verified(Asked(("before.py", "after.py"), jobs=1, no_cache=True)).proof
    assert [result.verdict.value for result in proof.results] == ["equal"], as_text(proof)
    assert "before.py:16 `noted(3) > 100`, always false" in proof.notes[0]
