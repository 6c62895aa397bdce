"""The commands on files of TileLang: versions from options and pins, options that belong to others, whole folders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from nki_migrate.cli import cli
from nki_migrate.codemods.tilelang import VERSION_MATRIX
from nki_migrate.errors import InputError
from nki_migrate.golden import GOLDENS
from nki_migrate.pins import versions_of
from nki_migrate.runtime.spec.tilelang import VERSIONS

BEFORE = GOLDENS["tilelang_reducer"].before
NKI = GOLDENS["running_counter"].before_path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(each) for each in arguments], standalone_mode=False)


def changed(*arguments: object) -> list[str]:
    """The files that a rewrite would change."""
    result = run("rewrite", "--output-format", "json", *arguments)
    return [Path(each["path"]).name for each in json.loads(result.stdout)["files"] if each["status"] == "changed"]


@pytest.mark.parametrize(
    ("pins", "wanted"),
    [
        ('dependencies = ["tilelang==0.1.8"]', ("0.1.8", "")),
        ('dependencies = ["tilelang>=0.1.9"]', ("0.1.9", "")),
        ('dependencies = ["tilelang >=0.1.9, <0.1.14"]', ("0.1.9", "0.1.13")),
        ('dependencies = ["tilelang[dev]~=0.1.7.post3"]', ("0.1.7", "")),
        ('dependencies = ["tilelang-kernels==9.9.9", "torch==2.0"]', ("", "")),
    ],
)
def test_pins_of_a_project(pins: str, wanted: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[project]\n{pins}\n")
    (tmp_path / "deep").mkdir()
    assert versions_of(str(tmp_path / "deep" / "kernel.py"), "tilelang", VERSIONS) == wanted


def test_requirements_are_read_where_the_project_file_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "requirements-dev.txt").write_text("numpy\ntilelang<=0.1.13  # pinned\n")
    assert versions_of(str(tmp_path / "kernel.py"), "tilelang", VERSIONS) == ("", "0.1.13")


def test_a_project_that_admits_no_newer_version_keeps_its_reducers(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(BEFORE)
    assert changed(tmp_path) == ["kernel.py"]
    for name in ("_nearest", "_files_of"):
        versions_of.__globals__[name].cache_clear()
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["tilelang>=0.1.9,<0.1.14"]\n')
    assert changed(tmp_path) == []
    assert changed("--to", "tilelang==0.1.15", tmp_path) == ["kernel.py"]


def test_a_folder_with_both_languages(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(BEFORE)
    (tmp_path / "nki_kernel.py").write_text(NKI.read_text())
    (tmp_path / "comment.py").write_text("# import tilelang, and neuronxcc\n")
    assert sorted(changed(tmp_path)) == ["kernel.py", "nki_kernel.py"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rewrite", "--from", "tilelang==0.1.8", NKI], "--from"),
        (["rewrite", "--to", "tilelang==0.9", NKI], "0.9"),
        (["rewrite", "--to", "triton==3", NKI], "triton"),
        (["layout", "--arch", "sm_80", f"{NKI}::peaks"], "--arch"),
        (["layout", "--arch", "sm_1", f"{GOLDENS['tilelang_reducer'].before_path}::row_sums"], "sm_1"),
    ],
)
def test_options_of_another_language_are_one_error(arguments: list[object], message: str) -> None:
    result = run(*arguments)
    assert result.exception is not None and message in str(getattr(result.exception, "message", result.exception))


def test_every_command_knows_the_language(tmp_path: Path) -> None:
    golden = GOLDENS["tilelang_reducer"]
    assert run("verify", golden.before_path, golden.after_path, "--no-cache").return_value == 0
    assert run("verify", "--migrate", golden.before_path, "--no-cache").return_value == 0
    assert run("check", golden.after_path).return_value == 0
    assert run("check", golden.before_path).return_value == 1
    assert "TLG008" in run("explain", "TLG008").stdout
    rows = json.loads(run("layout", "--output-format", "json", f"{golden.before_path}::row_sums").stdout)
    assert next((row["tensor"], row["byte"]) for row in rows) == ("tile", 0)
    assert "<svg" in run("layout", "--output-format", "svg", f"{golden.before_path}::row_sums").stdout


def test_what_the_matrix_says_is_what_the_rules_do() -> None:
    assert all(version in VERSIONS for version, _, _ in VERSION_MATRIX)


@pytest.mark.parametrize(
    "options", [("--allocation", "address"), ("--blocks", "auto"), ("--unsafe",), ("--module", "neuronxcc.own=own")]
)
def test_options_of_nki_alone_are_errors_where_all_files_are_tilelang_s(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "kernel.py").write_text(BEFORE)
    result = run("rewrite", *options, tmp_path)
    assert isinstance(result.exception, InputError) or result.exit_code == 2
    assert str(result.exception) == f"{options[0]} belongs to kernels of NKI, and all files are of TileLang"
    (tmp_path / "nki.py").write_text(NKI.read_text())
    assert run("rewrite", *options, tmp_path).exception is None


def test_a_language_by_name_takes_only_files_that_import_it(tmp_path: Path) -> None:
    (tmp_path / "notes.py").write_text(f"\"\"\"No kernels of tilelang.\"\"\"\n\n{BEFORE.replace('tilelang', 'tile')}")
    (tmp_path / "kernel.py").write_text(BEFORE)
    result = run(
        "rewrite", "--from", "tilelang==0.1.8", "--to", "tilelang==0.1.15", "--output-format", "json", tmp_path
    )
    status = {Path(each["path"]).name: each["status"] for each in json.loads(result.stdout)["files"]}
    assert status == {"kernel.py": "changed", "notes.py": "skipped"}


@pytest.mark.parametrize("form", ["text", "json"])
def test_layout_says_what_of_its_plan_is_not_sure(form: str) -> None:
    file = GOLDENS["tilelang_reducer"].before_path
    result = CliRunner().invoke(cli, ["layout", "--output-format", form, f"{file}::row_sums"])
    what = "the workspace that the threads of finalize_reducer may exchange partial results in"
    assert f"note: line 19: {what} is not placed" in (result.stdout if form == "text" else result.stderr).splitlines()
