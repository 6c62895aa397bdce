"""Kernels of a file whose own statements compute with a module that is not installed."""

from __future__ import annotations

from pathlib import Path

import pytest
from nki_migrate.cli import main
from nki_migrate.verify_command import Asked, verified

KERNEL = """
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
import not_installed_here

@nki.jit
def double(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nl.multiply(nl.load(x), 2.0))
    return out

"""
CASE = '[[case]]\nkernel = "double"\n[case.args]\nx = {shape = [128, 64], dtype = "float32"}\n'


def test_kernels_before_a_statement_that_cannot_be_computed_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("k.py").write_text(KERNEL + "expected = len(not_installed_here.rand(3))\n")
    Path("cases.toml").write_text(CASE)
    (result,) = verified(Asked(("k.py",), migrate=True, jobs=2)).proof.results
    assert result.verdict.value == "equal"
    with pytest.raises(SystemExit) as end:
        main(["verify", "--migrate", "k.py", "--no-cache"])
    said = capsys.readouterr()
    assert end.value.code == 0 and "loading the file ends at line 12" in said.out + said.err


def test_a_file_that_ends_before_its_kernels_is_not_modelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("k.py").write_text(KERNEL.replace("@nki.jit", "rows = int(not_installed_here.rows())\n\n@nki.jit"))
    Path("cases.toml").write_text(CASE)
    (result,) = verified(Asked(("k.py",), migrate=True, jobs=2)).proof.results
    assert result.verdict.value == "undecided"
