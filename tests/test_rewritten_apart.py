"""A defect of ours on files that belong together: each is rewritten alone, and says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from nki_migrate import rewriting
from nki_migrate.codemods.model import Options
from nki_migrate.discover import found_files

HELPER = "import neuronxcc.nki.language as nl\n\n\ndef twice(x):\n    return nl.load(x)\n"
KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
from helper import twice


@nki.jit
def kernel(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, twice(x))
    return out
"""


def test_files_that_are_rewritten_apart_say_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "helper.py").write_text(HELPER)
    (tmp_path / "kernel.py").write_text(KERNEL)
    rewrite = rewriting.codemods.rewrite_together

    def failing(sources, *arguments):  # type: ignore[no-untyped-def]  # as the function that it stands for
        if len(sources) > 1:
            raise KeyError("a defect")
        return rewrite(sources, *arguments)

    monkeypatch.setattr(rewriting.codemods, "rewrite_together", failing)
    reports = rewriting.rewrite_reports(found_files([str(tmp_path)]), Options(), jobs=1)
    assert len(reports) == 2 and all(report.status == "changed" for report in reports)
    for report in reports:
        (said,) = [each for each in report.asserted if "apart" in each.text]
        assert said.line == 1 and "internal error: KeyError" in said.why and "please report it" in said.why
