"""The fixes of a SARIF log: whoever applies them has what the tool writes."""

from __future__ import annotations

import base64
import json
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nki_migrate.cli import main
from nki_migrate.golden import GOLDENS
from nki_migrate.reports import Report
from nki_migrate.surfaces import reports_as

LINE_ENDS = re.compile("\r\n|\n|\r")


def offset(text: str, line: int, column: int) -> int:
    """Where a place of a text is, its lines ended as the log says."""
    starts = [0, *(match.end() for match in LINE_ENDS.finditer(text))]
    return starts[line - 1] + column - 1


def replaced(before: bytes, replacements: list[dict[str, Any]]) -> bytes:
    """A file with the replacements of a change made, from its end on: their regions are those of the file as it is."""
    for each in reversed(replacements):
        region, content = each["deletedRegion"], each["insertedContent"]
        if "binary" in content:
            start, end = region["byteOffset"], region["byteOffset"] + region["byteLength"]
            before = before[:start] + base64.b64decode(content["binary"]) + before[end:]
        else:
            text = before.decode()
            start = offset(text, region["startLine"], region["startColumn"])
            end = offset(text, region["endLine"], region["endColumn"])
            assert start <= end
            before = (text[:start] + content["text"] + text[end:]).encode()
    return before


def fixed(log: str, contents: dict[str, bytes]) -> dict[str, bytes]:
    """The files with all fixes of a log made, each once."""
    [run] = json.loads(log)["runs"]
    assert run["newlineSequences"] == ["\r\n", "\n", "\r"] and run["columnKind"] == "unicodeCodePoints"
    after = {}
    for result in run["results"]:
        for fix in result.get("fixes", []):
            assert fix["description"]["text"] and result["ruleId"] == "NKM001"
            for change in fix["artifactChanges"]:
                name = unquote(change["artifactLocation"]["uri"], errors="surrogateescape")
                assert name not in after and change["replacements"]
                after[name] = replaced(contents[name], change["replacements"])
    return after


def log_of(*reports: Report, written: bool = False) -> str:
    return reports_as("sarif", "rewrite", list(reports), changes_are_done=written)


TEXTS = st.lists(st.sampled_from(["a", "é", "\U00010400b", "", "x\u2028y", "\x0c"]), max_size=6)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])


@st.composite
def files(draw: st.DrawFn) -> bytes:
    lines = [line + draw(ENDS) for line in draw(TEXTS)]
    encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
    return ("".join(lines) + draw(st.sampled_from(["", "end"]))).encode(encoding)


@given(files(), files())
def test_fixes_give_the_new_file_whatever_the_old_one_was(before: bytes, after: bytes) -> None:
    if before != after:
        log = log_of(Report("a b.py", "changed", before=before, after=after))
        assert fixed(log, {"a b.py": before}) == {"a b.py": after}


def test_files_that_change_together_are_one_fix() -> None:
    first, second, third = (Report(f"{n}.py", "changed", before=b"a\n", after=b"%d\n" % n) for n in range(3))
    group = [Report(r.path, r.status, before=r.before, after=r.after, group="0.py") for r in (first, second)]
    rest = [Report("same.py", "unchanged", before=b"a", after=b"a", group="0.py"), Report("bad.py", "failed", "no")]
    log = log_of(*group, third, *rest)
    results = [result for result in json.loads(log)["runs"][0]["results"] if result["ruleId"] == "NKM001"]
    changes = [[len(fix["artifactChanges"]) for fix in result.get("fixes", [])] for result in results]
    assert changes == [[2], [], [1]]
    assert "together with 0.py" in results[1]["message"]["text"]
    assert fixed(log, dict.fromkeys(("0.py", "1.py", "2.py"), b"a\n")) == {f"{n}.py": b"%d\n" % n for n in range(3)}


def test_what_is_written_needs_no_fix() -> None:
    assert fixed(log_of(Report("k.py", "changed", before=b"a", after=b"b"), written=True), {}) == {}


@pytest.mark.parametrize("options", [(), ("--unsafe",)])
def test_fixes_of_goldens_are_what_the_command_writes(
    options: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names = [name for name, golden in GOLDENS.items() if not golden.is_beta2_only][::12]
    for name in [*names, "host_simulation"]:
        Path(f"{name}.py").write_text(GOLDENS[name].before)
    before = {path: Path(path).read_bytes() for path in sorted(os.listdir())}
    for write in (False, True):
        with pytest.raises(SystemExit):
            main(["rewrite", *options, *(["--write"] if write else ["--output-format", "sarif"]), "."])
        if not write:
            after = fixed(capsys.readouterr().out, before)
    assert len(after) > 5
    assert {path: Path(path).read_bytes() for path in before} == before | after
