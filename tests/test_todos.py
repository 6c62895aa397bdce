"""``rewrite --mark``: one comment for each manual finding, never twice, gone with its finding, and nothing else."""

from __future__ import annotations

import io
import re
import sys
from collections import Counter
from pathlib import Path

import pytest
from examples import sampled
from hypothesis import given, settings
from hypothesis import strategies as st
from nki_migrate.cli import main
from nki_migrate.codemods import Finding, Options
from nki_migrate.discover import Found
from nki_migrate.golden import GOLDENS
from nki_migrate.reports import Report
from nki_migrate.rewriting import rewrite_reports
from nki_migrate.todos import with_stale_marks, with_todos
from test_marks import SOURCES

TODO = re.compile(rb"(?:(?<=\r)|^)[ \t\f]*# TODO\(nki-migrate (\w+)\): .*?(?:\r\n|\r|\n)", re.M)


def rewritten(data: bytes, options: Options, *, mark: bool = False) -> Report:
    """The report on one file that holds ``data``."""
    [report] = rewrite_reports([Found("kernel.py", data=data)], options, 1)
    return marked(report, options) if mark else report


def marked(report: Report, options: Options) -> Report:
    files = [Found("kernel.py", data=report.before)]
    return with_todos([report], files, options, lambda files: rewrite_reports(files, options, 1))[0]


def marks_of(data: bytes) -> list[str]:
    return [code.decode() for code in TODO.findall(data)]


def manual(report: Report) -> Counter[str]:
    return Counter(finding.code for finding in report.findings if finding.applicability == "manual")


def hold(data: bytes, options: Options | None = None) -> bytes:
    """Assert what marks promise of a file, and give it marked."""
    options = options or Options()
    plain = rewritten(data, options)
    report = marked(plain, options)
    assert (report.findings, report.reason) == (plain.findings, plain.reason)
    assert TODO.sub(b"", report.after) == TODO.sub(b"", plain.after)
    assert {*manual(plain)} <= {*marks_of(report.after)}
    if report.after == data:
        return data
    if not plain.findings and not marks_of(report.after):
        return report.after
    known = rewritten(report.after, options)
    assert with_stale_marks(known, options) == known
    again = marked(known, options)
    assert again.after == report.after and again.status != "changed", again.reason
    return report.after


@pytest.mark.parametrize(
    "name", sampled("todos", sorted(name for name, golden in GOLDENS.items() if not golden.is_beta2_only))
)
def test_marks_of_goldens(name: str) -> None:
    hold(GOLDENS[name].before.encode(), Options(**GOLDENS[name].options))


@pytest.mark.parametrize("name", SOURCES)
def test_marks_of_what_is_left(name: str) -> None:
    text = hold(SOURCES[name].encode()).decode()
    for line, behind in zip(text.split("\n"), text.split("\n")[1:], strict=False):
        if "# TODO(" in line:
            assert len(line) - len(line.lstrip()) == len(behind) - len(behind.lstrip())


HEAD = "import neuronxcc.nki as nki\nimport neuronxcc.nki.isa as nisa\nimport neuronxcc.nki.language as nl\n\n\n"
FORMS = {
    "a body on the line of its header": "def f(x):\n    if x: y = nl.nc(2)\n    return x\n",
    "else and elif": "def f(x):\n    if x: pass\n    elif nl.nc(2): x = 3\n    else: x = nl.nc(4)\n    return x\n",
    "a semicolon": "a = 1; b = nl.nc(2)\n",
    "a semicolon behind a string of two lines": 'a = """\n  b"""; b = nl.nc(2)\n',
    "brackets over several lines": "def f():\n    return [\n        1,\n        nl.nc(2),\n    ]\n",
    "a line that a backslash continues": "def f():\n    x = 1 + \\\n        nl.nc(2); y = nl.nc(3)\n    return x\n",
    "a string of several lines": 'def f(x):\n    return f"""\n{nl.nc(2)}\n"""\n',
    "decorators": "w = lambda n: lambda f: f\n\n\n@w(1)\n@w(nl.nc(2))\nclass A:\n    x = nl.nc(3)\n",
    "try and except": "try:\n    x = 1\nexcept nl.Unknown:\n    x = nl.nc(2)\nfinally: y = nl.nc(1)\n",
    "a lambda, and a default": "def f(x=nl.nc(2), *, y=lambda: nl.nc(3)): return x\n",
    "comments above": "def f():\n    # what f does\n    # with this\n    return nl.nc(2)  # behind\n",
    "a form feed": "\x0cX = nl.nc(2)\n\x0c\ndef f():\n    return nl.nc(3)\n",
    "no last line end": "X = nl.nc(2)",
    "a match": "def f(x):\n    match x:\n        case 1: return nl.nc(2)\n        case _ if nl.nc(3): return 1\n",
}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("indent", ["    ", "\t"])
@pytest.mark.parametrize("name", FORMS)
def test_marks_stand_above_statements(name: str, indent: str, end: str) -> None:
    source = (HEAD + FORMS[name]).replace("    ", indent).replace("\n", end)
    text = hold(source.encode())
    assert marks_of(text)
    assert Counter(re.findall(rb"\r\n|\r|\n", text)).keys() == {end.encode()}


@pytest.mark.parametrize(
    "encoding", ["utf-8-sig", "latin-1", "cp1252", "iso8859-15", "koi8-r", "shift_jis", "utf-7", "iso2022_jp"]
)
def test_marks_in_other_encodings(encoding: str) -> None:
    letter = {"koi8-r": "ж", "shift_jis": "ア", "iso2022_jp": "ア"}.get(encoding, "é")
    cookie = "" if encoding.startswith("utf-8") else f"# -*- coding: {encoding} -*-\n"
    source = f"{cookie}{HEAD}def {letter}(x):\n    # {letter}\n    return nl.nc(2)\n"
    text = hold(source.encode(encoding))
    assert marks_of(text)
    assert f"# {letter}" in text.decode(encoding)


def test_marks_say_what_their_encoding_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"# coding: latin-1\nimport nki\nx = '\xe9'\n"
    found = Report("k.py", "unchanged", findings=(Finding(3, 1, "NKI999", "manual", "'ж' ×\n2", ""),), before=data)
    [report] = with_todos([found], [Found("k.py")], Options(), lambda files: [])
    assert report.after == data.replace(b"x =", b"# TODO(nki-migrate NKI999): '\\u0436' \xd7 2\nx =")


LINES = st.sampled_from(["\n", "# a comment\n", "x = 1\n", "if x:\n    y = nl.nc(2)\n", "z = nl.nc(3); w = nl.nc(4)\n"])


@settings(max_examples=40)
@given(st.lists(LINES, max_size=6), st.sets(st.integers(0, 30), max_size=3), st.sampled_from(["\n", "\r\n"]))
def test_marks_of_files_that_people_went_on_with(lines: list[str], removed: set[int], end: str) -> None:
    """Whatever lines of a marked file are gone: marks come and go with findings, and nothing else changes."""
    text = hold((HEAD + "".join(lines)).replace("\n", end).encode())
    rest = b"".join(line for n, line in enumerate(text.splitlines(keepends=True), -5) if n not in removed)
    if rewritten(rest, Options()).status != "failed":
        hold(rest)


# --- the command -----------------------------------------------------------------------------------------------------


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return int(ended.value.code or 0)


HOST = HEAD + "X = 1\nY = nl.nc(2)\nZ = X\n"


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "kernel.py"
    file.write_text(HOST)
    return file


def test_marks_come_and_go(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("rewrite", "--mark", "--write", kernel) == 1
    assert marks_of(kernel.read_bytes())
    assert run("rewrite", "--check", kernel) == 1
    assert run("rewrite", "--check", "--mark", kernel) == 1
    lines = kernel.read_text().split("\n")
    resolved = [line for line in lines if "TODO" in line or ("nl.nc" not in line and "neuronxcc" not in line)]
    kernel.write_text("\n".join(resolved))
    capsys.readouterr()
    assert run("rewrite", "--check", kernel) == 1
    assert "NKM006 [manual] this comment marks NKI090, which is not found here" in capsys.readouterr().err
    assert run("rewrite", "--mark", "--write", kernel) == 0
    assert marks_of(kernel.read_bytes()) == []
    assert run("rewrite", "--check", kernel) == 0


@pytest.mark.parametrize("target", ["0.2", "0.6"])
def test_stale_marks_go_where_nothing_else_changes(kernel: Path, target: str) -> None:
    """The file mentions no NKI but in its mark."""
    kernel.write_text("# first\n# TODO(nki-migrate NKI090): nl.nc is not the same\nX = 1\n")
    assert run("rewrite", "--check", "--target", target, kernel) == 1
    assert run("rewrite", "--mark", "--write", "--target", target, kernel) == 0
    assert kernel.read_text() == "# first\nX = 1\n"


def test_marks_of_rules_that_nobody_asked_for_stay(kernel: Path) -> None:
    run("rewrite", "--mark", "--write", kernel)
    before = kernel.read_bytes()
    run("rewrite", "--mark", "--write", "--select", "NKI016", kernel)
    assert kernel.read_bytes() == before


@pytest.mark.parametrize("place", ["line", "file", "configuration"])
def test_findings_that_are_silenced_have_no_mark(kernel: Path, place: str) -> None:
    comment = "# nki-migrate: ignore[NKI090, NKI001] we know"
    if place == "line":
        kernel.write_text(HOST.replace("nl.nc(2)", f"nl.nc(2)  {comment.replace(', NKI001', '')}"))
    elif place == "file":
        kernel.write_text(f"{comment}\n{HOST}")
    else:
        Path("nki-migrate.toml").write_text('[per-file-ignores]\n"kernel.py" = ["NKI090", "NKI001"]\n')
    run("rewrite", "--mark", "--write", kernel)
    assert "NKI090" not in marks_of(kernel.read_bytes())


def test_text_in_a_string_is_no_mark(kernel: Path) -> None:
    text = '"""\n# TODO(nki-migrate NKI004): text\n"""\nimport nki\n# TODO: mine\n# TODO(nki-migrate): mine\n'
    kernel.write_text(text)
    assert run("rewrite", "--mark", "--write", kernel) == 0
    assert kernel.read_text() == text


def test_marks_of_standard_input(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(HOST.encode())))
    run("rewrite", "--mark", "--write", "-")
    assert capsysbinary.readouterr().out == rewritten(HOST.encode(), Options(), mark=True).after


def test_files_that_import_each_other_are_marked_as_they_are_rewritten(kernel: Path) -> None:
    Path("helper.py").write_text(HEAD + "def doubled(t):\n    return nl.add(t, t)\n\n\nW = nl.nc(2)\n")
    kernel.write_text(
        HEAD.replace("\n\n\n", "\nfrom helper import doubled\n\n\n")
        + "@nki.jit\ndef k(x):\n    out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "    nl.store(out, doubled(nl.load(x)))\n    return out\n"
    )
    run("rewrite", "--mark", "--write", ".")
    before = {path: path.read_bytes() for path in Path().glob("*.py")}
    assert any(map(marks_of, before.values()))
    run("rewrite", "--mark", "--write", ".")
    assert {path: path.read_bytes() for path in Path().glob("*.py")} == before


def test_declarations_are_where_the_report_says(kernel: Path) -> None:
    """What ``verify`` reads: the lines of the output that declare tensors."""
    data = SOURCES["an instruction without a rewrite"].encode()
    plain, report = (rewritten(data, Options(), mark=mark) for mark in (False, True))
    lines = [each.after.decode().split("\n") for each in (plain, report)]
    assert report.after != plain.after and plain.moves
    for old, new in zip(plain.moves, report.moves, strict=True):
        assert lines[0][old.new_lines[0] - 1 : old.new_lines[1]] == lines[1][new.new_lines[0] - 1 : new.new_lines[1]]


def test_a_file_that_fails_keeps_its_marks(kernel: Path) -> None:
    kernel.write_text("import nki\n# TODO(nki-migrate NKI090): x\ndef f(:\n")
    assert run("rewrite", "--mark", "--write", kernel) == 2
    assert marks_of(kernel.read_bytes()) == ["NKI090"]
