"""``nki-migrate record``: what a program launches becomes cases, and the cases run."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from nki_migrate.case_text import case_toml
from nki_migrate.errors import InputError
from nki_migrate.record import run
from nki_migrate.runtime.cases import Case, DtypeSpec, MemberSpec, NoneSpec, ObjectSpec, TensorSpec, read_cases
from nki_migrate.verify import proved

OLD = """
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
import numpy as np


@nki.jit
def scaled(x, index, factor=1.0, kind=None, extra=None, pair=()):
    out = nl.ndarray(x.shape, dtype=kind or x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    nl.store(out, value=nl.multiply(t, factor))
    return out


@nki.jit
def rows(x):
    out = nl.ndarray((2, 64, 8), dtype=x.dtype, buffer=nl.shared_hbm)
    i = nl.program_id(0)
    nl.store(out[i], value=nl.load(x[i * 64:(i + 1) * 64]))
    return out


@nki.jit
def among(x, **options):
    out = nl.ndarray(x.shape, dtype=options["kind"], buffer=nl.shared_hbm)
    nl.store(out, value=nl.multiply(nl.load(x), options["factor"]))
    return out


@nki.trace
def written(x, out):
    nl.store(out, value=nl.load(x))
"""
PROGRAM = """
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
import kernels

x = np.random.default_rng(0).standard_normal((128, 8)).astype(np.float32)
"""


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Record a program that has ``kernels`` and ``x``; the cases that the file holds afterwards."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kernels.py").write_text(OLD)

    def recorded(body: str, **options: bool) -> tuple[Case, ...]:
        (tmp_path / "program.py").write_text(PROGRAM + body)
        assert run([sys.executable, "program.py"], "cases.toml", **options) == 0
        found = read_cases("cases.toml")
        assert found.bad == ()
        return found.cases

    return recorded


def test_a_launch_is_a_case_that_runs(record) -> None:  # type: ignore[no-untyped-def]
    (case,) = record("kernels.scaled(x, np.arange(4, dtype=np.int32), 2.0, nl.bfloat16, None, (2, 3))")
    assert (case.kernel, case.name, case.grid, case.hardware) == ("scaled", "recorded 1", (), None)
    assert case.source == str(Path("kernels.py").absolute())
    index = case.args["index"]
    assert isinstance(index, TensorSpec) and np.load(index.fill).tolist() == [0, 1, 2, 3]
    assert {name: value for name, value in case.args.items() if name != "index"} == {
        "x": TensorSpec((128, 8), "float32", "normal"),
        "factor": 2.0,
        "kind": DtypeSpec("bfloat16"),
        "extra": NoneSpec(),
        "pair": (2, 3),
    }
    (result,) = [r for r in proved("kernels.py", "kernels.py").results if r.case]
    assert result.verdict.value == "equal", result


def test_grids_are_recorded_and_programs_are_run(record) -> None:  # type: ignore[no-untyped-def]
    (case,) = record("kernels.rows[2](x)")
    assert case.grid == (2,)


def test_an_output_parameter_is_marked(record) -> None:  # type: ignore[no-untyped-def]
    (case,) = record("kernels.written(x, np.zeros_like(x))")
    assert case.args["out"] == TensorSpec((128, 8), "float32", "zeros", output=True)


def test_repetitions_are_one_case_also_in_a_second_recording(record) -> None:  # type: ignore[no-untyped-def]
    first = record("for _ in range(3): kernels.rows[2](x)\nkernels.scaled(x, np.arange(4, dtype=np.int32))")
    assert [case.kernel for case in first] == ["rows", "scaled"]
    again = record("kernels.rows[2](x)\nkernels.scaled(x, np.arange(4, dtype=np.int32))\nkernels.rows[2](x * 9)")
    assert [(case.kernel, case.name) for case in again[:2]] == [(case.kernel, case.name) for case in first]
    assert again[2].args["x"].fill == "uniform" and again[2].name == "recorded 2"


@pytest.mark.parametrize(
    ("array", "fill"),
    [
        ("np.zeros((128, 8), np.float32)", "zeros"),
        ("np.tril(np.ones((128, 8), np.float32))", "stored"),
        ("np.where(x > 0, x, -np.inf)", "stored"),
        ("np.abs(x)", "uniform"),
        ("x * 1000", "uniform"),
        ("x", "normal"),
    ],
)
def test_numbers_are_kept_where_they_matter(record, array: str, fill: str) -> None:  # type: ignore[no-untyped-def]
    (case,) = record(f"kernels.rows[2]({array})")
    spec = case.args["x"]
    assert (Path(spec.fill).suffix == ".npy") if fill == "stored" else spec.fill == fill
    if fill == "uniform":
        values = np.asarray(eval(array, {"np": np, "x": np.random.default_rng(0).standard_normal((128, 8))}))
        assert spec.low <= values.min() and values.max() <= spec.high


def test_all_numbers_are_kept_on_request(record) -> None:  # type: ignore[no-untyped-def]
    (case,) = record("kernels.rows[2](x)", keep_data=True)
    expected = np.random.default_rng(0).standard_normal((128, 8)).astype(np.float32)
    assert np.array_equal(np.load(case.args["x"].fill), expected)


def test_what_no_case_can_say_is_told(record, capfd) -> None:  # type: ignore[no-untyped-def]
    cases = record("kernels.rows[2](x)\nkernels.scaled(x, object())")
    assert [case.kernel for case in cases] == ["rows"]
    assert "kernel 'scaled': argument 'index' is a object, which a case cannot say" in capfd.readouterr().err


def test_what_keywords_caught_are_arguments(record) -> None:  # type: ignore[no-untyped-def]
    [case] = record("kernels.among(x, factor=0.5, kind=nl.bfloat16)\n")
    assert {name: case.args[name] for name in ("factor", "kind")} == {"factor": 0.5, "kind": DtypeSpec("bfloat16")}
    assert "options" not in case.args


def test_a_launch_that_fails_is_no_case(record) -> None:  # type: ignore[no-untyped-def]
    cases = record("kernels.rows[2](x)\ntry: kernels.rows[9](x)\nexcept Exception: pass")
    assert len(cases) == 1


def test_nothing_launched_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="no kernel was launched"):
        run([sys.executable, "-c", "pass"], "cases.toml")
    with pytest.raises(InputError, match="there is no directory"):
        run([sys.executable, "-c", "pass"], "nowhere/cases.toml")


def test_where_nothing_can_be_written_nothing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path)
    with pytest.raises(InputError, match="cannot write to the directory"):
        run([sys.executable, "-c", "open('ran', 'w')"], str(tmp_path / "cases.toml"))
    assert not (tmp_path / "ran").exists()


def test_the_commands_exit_code_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kernels.py").write_text(OLD)
    (tmp_path / "program.py").write_text(PROGRAM + "kernels.rows[2](x)\nraise SystemExit(7)")
    assert run([sys.executable, "program.py"], "cases.toml") == 7
    assert len(read_cases("cases.toml").cases) == 1


def test_every_case_survives_being_written(tmp_path: Path) -> None:
    args = {
        "x": TensorSpec((2, 3), "bfloat16", "uniform", -1.5, 2.0),
        "out": TensorSpec((2,), "float32", "zeros", output=True),
        "many": [TensorSpec((2,), "float32"), (1, NoneSpec())],
        "kind": DtypeSpec("int32"),
        "text": 'a "quoted"\nline \\ \x7f ü',
        "on": True,
        "size": -3,
        "tiny": 1e-12,
        "names": ["a", "b"],
        "nothing": NoneSpec(),
        "config": ObjectSpec("Config", {"norm": MemberSpec("a.b:Norm.RMS"), "x": TensorSpec((2,), "float32")}),
        "empty": ObjectSpec("Config"),
    }
    case = Case(
        "k",
        'na"me',
        str(tmp_path / "cases.toml"),
        1,
        (2, 1),
        "gen2",
        5,
        args,
        "m:f",
        1e-2,
        1e-3,
        str(tmp_path / "k.py"),
    )
    (tmp_path / "cases.toml").write_text(case_toml(case, tmp_path), encoding="utf-8")
    found = read_cases(tmp_path / "cases.toml")
    assert found.bad == () and found.cases == (case,)
