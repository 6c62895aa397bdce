"""``verify``: pairing, verdicts, exit codes, and what is printed."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest
from nki_migrate.errors import InputError
from nki_migrate.runtime.compare import Verdict
from nki_migrate.verdicts import CONTRACT, as_text
from nki_migrate.verify import proved, run

OLD = """
import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def doubled(x):
    n, rows, columns = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray((n, nl.par_dim(rows), columns), dtype=x.dtype,
                   buffer=ncc.sbuf.mod_alloc(base_addr=64, num_free_tiles=(2,)))
    for i in nl.affine_range(n):
        t[i] = nl.load(x[i])
        t[i] = nisa.tensor_scalar(t[i], nl.multiply, 2.0)
        nl.store(out[i], value=t[i])
    return out
"""
NEW = """
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def doubled(x):
    n, rows, columns = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = []
    for i in range(n):
        t.append(nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf, address=(0, 64 + (i % 2) * columns * 4)))
    for i in nl.affine_range(n):
        nisa.dma_copy(dst=t[i], src=x[i])
        nisa.tensor_scalar(dst=t[i], data=t[i], op0=nl.multiply, operand0=2.0)
        nisa.dma_copy(dst=out[i], src=t[i])
    return out
"""
CASE = """
[[case]]
kernel = "doubled"
name = "three tiles"
[case.args]
x = {shape = [3, 128, 16], dtype = "float32"}
"""
MOVED = NEW.replace("64 + (i % 2)", "128 + (i % 2)")
TRIPLED = NEW.replace("operand0=2.0", "operand0=3.0")


@pytest.fixture
def pair(tmp_path: Path):  # type: ignore[no-untyped-def]
    """Write before.py, after.py and cases.toml; returns the paths of the two."""

    def write(old: str = OLD, new: str = NEW, cases: str | None = CASE) -> tuple[str, str]:
        for name, text in (("before.py", old), ("after.py", new), ("cases.toml", cases)):
            if text is not None:
                (tmp_path / name).write_text(textwrap.dedent(text))
        return str(tmp_path / "before.py"), str(tmp_path / "after.py")

    return write


def verdicts(before: str, after: str, **options: Any) -> dict[str, str]:
    """The verdicts of the only result, by level."""
    (result,) = proved(before, after, jobs=2, **options).results
    return {level.level: level.verdict.value for level in result.levels}


ALL_EQUAL = {"layout": "equal", "operands": "equal", "numbers": "equal"}


def test_a_correct_migration_is_equal_at_three_levels_and_exits_with_0(pair, capsys) -> None:  # type: ignore[no-untyped-def]
    before, after = pair()
    assert run(before, after) == 0
    out = capsys.readouterr().out
    assert out == textwrap.dedent(f"""\
        {before} -> {after}
          doubled, three tiles (gen3): equal
            layout     equal      3 tiles pinned, 0 not
            operands   equal      9 instructions, same places in the same order
            numbers    equal      1 output, bit-identical

        1 case: 1 equal, 0 different, 0 undecided, 0 in error
        {CONTRACT}
        """)


def test_a_moved_tile_is_different_where_it_matters_with_both_lines_and_addresses(pair, capsys) -> None:  # type: ignore[no-untyped-def]
    before, after = pair(new=MOVED)
    assert run(before, after) == 1
    out = capsys.readouterr().out
    assert "    layout     different" in out and "    numbers    equal " in out
    assert "      't[0]' is at another place\n" in out
    assert f"        before {before}:12: t[0] sbuf partition 0 byte 64, 128 partitions x 64 bytes float32\n" in out
    assert f"        after  {after}:13: t[0] sbuf partition 0 byte 128, 128 partitions x 64 bytes float32\n" in out
    assert "      instruction 1, dma_copy: 'dst' is at another address\n" in out


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [("out", "(out,)", "different"), ("(out,)", "out", "different"), ("(out,)", "(out,)", "equal")],
)
def test_a_tuple_of_one_tensor_is_not_the_tensor(pair, old: str, new: str, verdict: str) -> None:  # type: ignore[no-untyped-def]
    files = (text.replace("return out", f"return {value}") for text, value in ((OLD, old), (NEW, new)))
    assert verdicts(*pair(*files)) == ALL_EQUAL | {"numbers": verdict}


def test_json_has_every_level_with_its_differences(pair, capsys) -> None:  # type: ignore[no-untyped-def]
    before, after = pair(new=TRIPLED)
    assert run(before, after, output_format="json") == 1
    document = json.loads(capsys.readouterr().out)
    assert document["summary"] == {"cases": 1, "equal": 0, "different": 1, "undecided": 0, "error": 0}
    assert "never hardware" in document["contract"]
    (result,) = document["results"]
    assert (result["kernel"], result["case"], result["hardware"]) == ("doubled", "three tiles", "gen3")
    assert {name: level["verdict"] for name, level in result["levels"].items()} == {
        "layout": "equal",
        "operands": "different",
        "numbers": "different",
    }
    (difference,) = result["levels"]["operands"]["differences"]
    assert difference["message"] == "instruction 2, tensor_scalar, has another 'operand0'"
    source = {"before": "t[i] = nisa.tensor_scalar(t[i], nl.multiply, 2.0)"}
    source["after"] = "nisa.tensor_scalar(dst=t[i], data=t[i], op0=nl.multiply, operand0=3.0)"
    for side, file, factor in (("before", before, 2.0), ("after", after, 3.0)):
        place = {"file": file, "line": 16, "what": f"operand0 = {factor}", "source": source[side], "version": None}
        assert difference[side] == place
    assert [tile["how"] for tile in result["tiles"]] == ["operands", "declaration", "declaration"]


@pytest.mark.parametrize(
    ("level", "levels"), [("layout", ["layout"]), ("operands", ["layout", "operands"]), ("numbers", list(ALL_EQUAL))]
)
def test_a_level_includes_those_before_it(pair, level: str, levels: list[str]) -> None:  # type: ignore[no-untyped-def]
    assert list(verdicts(*pair(new=TRIPLED), level=level)) == levels
    assert proved(*pair(new=TRIPLED), level=level).exit_code == (0 if level == "layout" else 1)


@pytest.mark.parametrize(
    ("given", "case", "used"), [(None, "", "gen3"), (None, "gen2", "gen2"), ("gen4", "gen2", "gen4")]
)
def test_the_hardware_is_what_was_asked_for_else_the_cases_own_else_gen3(pair, given, case: str, used: str) -> None:  # type: ignore[no-untyped-def]
    cases = CASE.replace("[case.args]", f'hardware = "{case}"\n[case.args]' if case else "[case.args]")
    (result,) = proved(*pair(cases=cases), hardware=given).results
    assert (result.hardware, result.verdict) == (used, Verdict.EQUAL)


# --- what cannot be decided ------------------------------------------------------------------------------------------


def test_a_kernel_without_a_case_is_undecided_and_told_what_to_do(pair, capsys) -> None:  # type: ignore[no-untyped-def]
    before, after = pair(cases=None)
    assert run(before, after) == 2
    out = capsys.readouterr().out
    assert f"    undecided: {before}:8: no case says how to run it\n" in out
    assert 'cases.toml: [[case]], kernel = "doubled", and its arguments in [case.args] (nki-migrate cases ' in out


def test_a_construct_that_is_not_modelled_is_undecided_and_named(pair) -> None:  # type: ignore[no-untyped-def]
    old = OLD.replace("return out", "nki._private.private_api.thing(t)\n    return out")
    (result,) = proved(*pair(old=old)).results
    assert {level.verdict for level in result.levels} == {Verdict.UNDECIDED}
    (problem,) = result.problems
    assert (problem.side, problem.line) == ("before", 18)
    assert "does not model the private API" in problem.message


@pytest.mark.parametrize("side", ["old", "new"])
def test_a_broken_kernel_is_an_error_of_every_level(pair, side: str) -> None:  # type: ignore[no-untyped-def]
    broken = {"old": OLD, "new": NEW}[side].replace("return out", "return nothing")
    (result,) = proved(*pair(**{side: broken})).results
    assert {level.verdict for level in result.levels} == {Verdict.ERROR}
    assert [problem.side for problem in result.problems] == [{"old": "before", "new": "after"}[side]]
    assert "nothing" in result.problems[0].message


def test_an_error_outweighs_a_difference_in_the_exit_code(pair) -> None:  # type: ignore[no-untyped-def]
    bad = '\n[[case]]\nkernel = "doubled"\nname = "bad"\n[case.args]\ny = 3\n'
    proof = proved(*pair(new=TRIPLED, cases=CASE + bad))
    assert proof.counts == {"equal": 0, "different": 1, "undecided": 0, "error": 1}
    assert proof.exit_code == 2


def test_a_bad_case_is_one_error_and_the_others_run(pair) -> None:  # type: ignore[no-untyped-def]
    bad = '\n[[case]]\nkernel = "doubled"\nname = "bad"\ngrid = 0\n'
    first, second = proved(*pair(cases=CASE + bad)).results
    assert {(r.case, r.verdict) for r in (first, second)} == {("bad", Verdict.ERROR), ("three tiles", Verdict.EQUAL)}
    (problem,) = next(r for r in (first, second) if r.case == "bad").problems
    assert "case 'bad' of kernel 'doubled': grid is 0: it must be an integer, 1 or more" in problem.message


@pytest.mark.parametrize(
    ("cases", "message"),
    [
        (CASE.replace('"doubled"', '"double"'), "BEFORE has no kernel 'double': did you mean 'doubled'?"),
        ('[[case]]\nname = "a"\n', "case number 1: 'kernel' is missing"),
    ],
)
def test_a_case_of_no_kernel_is_an_error(pair, cases: str, message: str) -> None:  # type: ignore[no-untyped-def]
    proof = proved(*pair(cases=cases))
    assert any(message in problem.message for result in proof.results for problem in result.problems)
    assert proof.exit_code == 2


def test_a_case_of_a_kernel_in_the_file_beside_is_not_this_files_business(pair, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "other.py").write_text("@nki.jit\ndef halved(x):\n    return x\n")
    proof = proved(*pair(cases=CASE + '\n[[case]]\nkernel = "halved"\n'))
    assert [result.kernel for result in proof.results] == ["doubled"]


def test_a_kernel_that_is_missing_after_is_an_error(pair) -> None:  # type: ignore[no-untyped-def]
    (result,) = proved(*pair(new=NEW.replace("def doubled", "def twice"))).results
    assert result.verdict is Verdict.ERROR
    assert "has no kernel 'doubled': it has twice" in result.problems[0].message


def test_a_file_that_does_not_load_is_an_error(pair) -> None:  # type: ignore[no-untyped-def]
    proof = proved(*pair(old="import nki.not_there\n"))
    assert [result.kernel for result in proof.results] == [""]
    assert "No module named 'nki.not_there'" in proof.results[0].problems[0].message


# --- references ------------------------------------------------------------------------------------------------------


def reference(factor: float) -> str:
    return CASE.replace("[case.args]", f'reference = "numbers_of:times_{factor:g}"\n[case.args]')


@pytest.fixture
def numbers_of(tmp_path: Path) -> None:
    (tmp_path / "numbers_of.py").write_text("def times_2(x):\n    return 2 * x\n\ndef times_3(x):\n    return 3 * x\n")


def test_both_sides_are_compared_with_the_reference(pair, numbers_of) -> None:  # type: ignore[no-untyped-def]
    (result,) = proved(*pair(cases=reference(2))).results
    assert [(a.level, a.verdict.value) for a in result.reference] == [("before", "equal"), ("after", "equal")]


def test_an_old_kernel_that_misses_its_own_reference_is_an_error_of_the_case(pair, numbers_of, capsys) -> None:  # type: ignore[no-untyped-def]
    before, after = pair(cases=reference(3))
    assert run(before, after) == 2
    out = capsys.readouterr().out
    assert "    reference  error      before does not agree with its own reference\n" in out
    assert "    numbers    equal      1 output, bit-identical\n" in out


def test_a_new_kernel_that_misses_the_reference_is_different(pair, numbers_of) -> None:  # type: ignore[no-untyped-def]
    (result,) = proved(*pair(new=TRIPLED, cases=reference(2))).results
    assert [(a.level, a.verdict.value) for a in result.reference] == [("before", "equal"), ("after", "different")]


def test_a_reference_that_fails_is_an_error_beside_the_levels(pair) -> None:  # type: ignore[no-untyped-def]
    (result,) = proved(*pair(cases=reference(2))).results
    assert {level.verdict for level in result.levels} == {Verdict.EQUAL}
    assert (result.verdict, result.problems[0].side) == (Verdict.ERROR, "reference")


def test_no_reference_is_run_for_the_lower_levels(pair) -> None:  # type: ignore[no-untyped-def]
    assert proved(*pair(cases=reference(2)), level="operands").exit_code == 0


# --- which kernels ---------------------------------------------------------------------------------------------------

SECOND = "\n\n@nki.jit\ndef other(x):\n    return x\n"


def test_only_the_kernels_that_were_asked_for(pair) -> None:  # type: ignore[no-untyped-def]
    files = pair(old=OLD + SECOND, new=NEW + SECOND)
    assert [r.kernel for r in proved(*files).results] == ["doubled", "other"]
    assert [r.kernel for r in proved(*files, kernels=["doubled"]).results] == ["doubled"]


def test_an_unknown_kernel_is_an_error(pair) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=r"before\.py has no kernel 'double': did you mean 'doubled'\?"):
        proved(*pair(), kernels=["double"])


def test_kernels_that_only_after_has_are_noted(pair) -> None:  # type: ignore[no-untyped-def]
    proof = proved(*pair(new=NEW + SECOND))
    assert proof.exit_code == 0
    assert [note.partition(": ")[2] for note in proof.notes] == ["only in AFTER, compared with nothing: other"]


def test_sub_kernels_need_no_case_of_their_own_and_are_noted(pair) -> None:  # type: ignore[no-untyped-def]
    part = "\n\n@nki.jit(mode='trace')\ndef part(x):\n    return x\n"
    proof = proved(*pair(old=OLD + part))
    assert [result.kernel for result in proof.results] == ["doubled"]
    assert [note.partition(": ")[2] for note in proof.notes] == [
        "verified as parts of the kernels that call them: part"
    ]


def test_directories_are_paired_by_relative_paths(tmp_path: Path) -> None:
    for side, text in (("old", OLD), ("new", NEW)):
        for name in ("a.py", "sub/b.py"):
            file = tmp_path / side / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            (file.parent / "cases.toml").write_text(CASE)
    (tmp_path / "old" / "host.py").write_text("raise SystemExit('not a kernel file')\n")
    (tmp_path / "old" / "gone.py").write_text(OLD.replace("doubled", "doubled_too"))
    (tmp_path / "old" / "cases.toml").write_text(CASE + CASE.replace("doubled", "doubled_too"))
    proof = proved(tmp_path / "old", tmp_path / "new")
    assert [(Path(r.before).name, r.kernel, r.verdict.value) for r in proof.results] == [
        ("a.py", "doubled", "equal"),
        ("gone.py", "doubled_too", "error"),
        ("b.py", "doubled", "equal"),
    ]
    assert "gone.py: no such file" in proof.results[1].problems[0].message


def test_cases_may_be_somewhere_else(pair, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    files = pair(cases=None)
    (tmp_path / "elsewhere.toml").write_text(CASE)
    assert proved(*files, cases=tmp_path / "elsewhere.toml").exit_code == 0
    with pytest.raises(InputError, match=r"missing\.toml: cannot read the cases"):
        proved(*files, cases=tmp_path / "missing.toml")


def test_arguments_that_cannot_be_used_are_errors(pair, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    before, after = pair()
    with pytest.raises(InputError, match=r"gone\.py: no such file or directory"):
        proved(before, tmp_path / "gone.py")
    with pytest.raises(InputError, match="verify takes two files or two directories"):
        proved(tmp_path, after)
    with pytest.raises(InputError, match="no kernel found"):
        proved(*pair(old="x = 1\n", cases=None))
    with pytest.raises(InputError, match="not valid TOML"):
        proved(*pair(cases="[["))


# --- correspondence --------------------------------------------------------------------------------------------------

LOOP = """
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def doubled(x):
    n, rows, columns = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(n):
        t = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf, address=(0, 64 + (i % 2) * columns * 4))
        nisa.dma_copy(dst=t, src=x[i])
        nisa.tensor_scalar(dst=t, data=t, op0=nl.multiply, operand0=2.0)
        nisa.dma_copy(dst=out[i], src=t)
    return out
"""
PLACED = "nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf, address=(0, 64 + (i % 2) * columns * 4))"
WIDE = "nl.ndarray((rows, 2 * columns), dtype=x.dtype, buffer=nl.sbuf, address=(0, 64))"
FOLD = LOOP.replace("    for i in", f"    t = {WIDE}\n    for i in").replace(f"t = {PLACED}", "at = (i % 2) * columns")
FOLD = FOLD.replace("=t,", "=t[:, at:at + columns],").replace("src=t)", "src=t[:, at:at + columns])")


@pytest.mark.parametrize("pinned", [True, False], ids=["addresses", "automatic"])
@pytest.mark.parametrize("new", [NEW, LOOP, FOLD], ids=["list", "loop", "fold"])
def test_hand_made_migrations_of_any_structure_are_equal(pair, new: str, pinned: bool) -> None:  # type: ignore[no-untyped-def]
    old = OLD
    if not pinned:
        old = OLD.replace("ncc.sbuf.mod_alloc(base_addr=64, num_free_tiles=(2,))", "nl.sbuf")
        new = new.replace(", address=(0, 64 + (i % 2) * columns * 4)", "").replace(", address=(0, 64)", "")
        new = new.replace("2 * columns)", "n * columns)").replace("(i % 2) * columns", "i * columns")
    (result,) = proved(*pair(old=old, new=new), jobs=2).results
    assert {level.level: level.verdict.value for level in result.levels} == ALL_EQUAL
    assert {match.how for match in result.matches} == {"operands"} and result.unmatched == ()


def test_tiles_without_a_counterpart_are_findings(pair, capsys) -> None:  # type: ignore[no-untyped-def]
    before, after = pair(
        new=NEW.replace(
            "    t = []\n", "    t = []\n    spare = nl.ndarray((rows, 4), dtype=x.dtype, buffer=nl.sbuf)\n"
        ),
        cases=CASE.replace("[case.args]", 'target = "0.2"\n[case.args]'),  # later ones place all tensors, or none
    )
    assert run(before, after) == 0
    out = capsys.readouterr().out
    place = f"after, {after}:12"
    assert f"unmatched tile: 'spare' sbuf no address ({place}) has no counterpart before: no instruction touches" in out


def test_which_tile_stands_for_which_is_shown_on_request(pair) -> None:  # type: ignore[no-untyped-def]
    text = as_text(proved(*pair(new=FOLD), jobs=2), tiles=True)
    assert (
        "      tile 't[0]' sbuf partition 0 byte 64 -> 't' sbuf partition 0 byte 64, inferred from the instructions\n"
        in text
    )
    assert (
        "      tile 't[1]' sbuf partition 0 byte 128 -> 't' sbuf partition 0 byte 64, inferred from the instructions\n"
        in text
    )


def test_an_excerpt_of_both_address_maps_is_shown(pair, capsys) -> None:  # type: ignore[no-untyped-def]
    run(*pair(new=MOVED))
    out = capsys.readouterr().out
    assert (
        "        addresses before\n"
        "        > sbuf partitions 0-127 bytes 64-127: t[0]\n"
        "          sbuf partitions 0-127 bytes 64-127: t[2]\n"
        "          sbuf partitions 0-127 bytes 128-191: t[1]\n"
    ) in out
    assert "        addresses after\n        > sbuf partitions 0-127 bytes 128-191: t[0]\n" in out
    assert "          | t = nl.ndarray((n, nl.par_dim(rows), columns), dtype=x.dtype,\n" in out
