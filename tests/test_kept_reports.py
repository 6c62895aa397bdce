"""Reports that are kept are those of a rewrite, and only while nothing has changed."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from first_rung import Options
from nki_migrate import kept_reports, rewriting
from nki_migrate.cache import Entries
from nki_migrate.discover import Found, found_files
from nki_migrate.reports import Report

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
NAMES = (
    "running_counter",
    "affine_select",
    "forced_auto_alloc",
    "written_parameter",
    "matmul_accumulate",
    "blocks_of_unknown_sizes",
)


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Rewrite the files of ``tree`` with a cache; the reports, and whether anything was rewritten for them."""
    rewritten: list[int] = []
    real = rewriting.rewrite_reports

    def counted(files: list[Found], options: Options, jobs: int, *rest: Any) -> list[Report]:
        rewritten.append(len(files))
        return real(files, options, jobs, *rest)

    monkeypatch.setattr(rewriting, "rewrite_reports", counted)
    tree, cache = tmp_path / "tree", Entries(tmp_path / "cache")
    tree.mkdir()
    for name in NAMES:
        source = GOLDEN / name / "before.py"
        if source.exists():
            (tree / f"{name}.py").write_bytes(source.read_bytes())
    (tree / "host.py").write_text("x = 1\n")
    (tree / "broken.py").write_text("import neuronxcc.nki\ndef (:\n")
    monkeypatch.chdir(tree)

    def ask(options: Options | None = None) -> tuple[list[Report], bool]:
        rewritten.clear()
        reports = kept_reports.kept_reports(found_files(["."]), options or Options(), 1, cache)
        return reports, bool(rewritten)

    return ask


def test_what_is_kept_is_what_the_rewrite_said(asked: Any) -> None:
    first, again = asked(), asked()
    assert first[1] and not again[1]
    for one, other in zip(first[0], again[0], strict=True):
        assert {f.name: getattr(one, f.name) for f in fields(one)} == {
            f.name: getattr(other, f.name) for f in fields(one)
        }
    every = [f.name for f in fields(Report) if any(getattr(report, f.name) for report in first[0])]
    assert set(every) >= {
        "findings",
        "applied",
        "before",
        "after",
        "moves",
        "decisions",
        "reason",
        "asserted",
        "seconds",
    }


@pytest.mark.parametrize("change", ["content", "beside", "new", "gone"])
def test_files_that_changed_are_rewritten_again(asked: Any, change: str) -> None:
    asked()
    file = Path("running_counter.py")
    if change == "content":
        file.write_text(file.read_text() + "\n# more\n")
    elif change == "beside":
        Path("host.py").write_text("x = 2\n")
    elif change == "new":
        Path("new.py").write_text("y = 1\n")
    else:
        file.unlink()
    assert asked()[1]


def test_other_options_are_another_question(asked: Any) -> None:
    asked()
    assert asked(Options(unsafe=True))[1] and not asked(Options(unsafe=True))[1] and not asked()[1]


def test_failures_of_the_tool_are_not_kept(asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any) -> Any:
        raise RuntimeError("a defect")

    with monkeypatch.context() as patch:
        patch.setattr("nki_migrate.codemods.rewrite_together", failing)
        assert any("internal error" in (report.reason or "") for report in asked()[0])
    assert asked()[1]


def test_standard_input_is_never_kept(asked: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewriting, "rewrite_reports", lambda *_: [])
    monkeypatch.setattr(Entries, "keep_entry", lambda *_: pytest.fail("kept"))
    assert kept_reports.kept_reports([Found("-")], Options(), 1, Entries(tmp_path)) == []
