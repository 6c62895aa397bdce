"""A parameter that a later NKI renames is one row of the table of changes: all else takes it from there.

The row is added to a copy of the package; what runs there is the command line.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from module_imports import ROOT

ROW = """
CHANGES_06 = (
    *CHANGES_06,
    Change(
        V06,
        "operand-of-reciprocal",
        "data of reciprocal is source",
        "nisa.reciprocal(dst=d, data=s)",
        "nisa.reciprocal(dst=d, source=s)",
        "a test",
        "NKV045",
        "safe",
        renamed=((_ISA + "reciprocal:data", "source"),),
    ),
)
"""
BETA1 = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def inverse(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nisa.reciprocal(nl.load(x)))
    return out
"""
BETA2 = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def inverse(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.reciprocal(dst=tile, data=tile)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""
CASES = """\
[[case]]
kernel = "inverse"

[case.args]
x = {shape = [128, 64], dtype = "float32"}
"""

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """``nki-migrate`` with one row more."""
    site = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "migrate", site / "nki_migrate")
    for folder in ("codemods", "runtime", "golden"):
        shutil.copytree(ROOT / folder, site / "nki_migrate" / folder)
    table = site / "nki_migrate" / "runtime" / "spec" / "changes_later.py"
    table.write_text(table.read_text(encoding="utf-8") + ROW, encoding="utf-8")

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-m", "nki_migrate", *map(str, arguments)]
        return subprocess.run(
            words, capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": str(site)}
        )

    return run


@pytest.mark.parametrize("source", [BETA1, BETA2], ids=["from Beta 1", "from 0.2"])
def test_a_renamed_parameter_is_one_row(command: Command, tmp_path: Path, source: str) -> None:
    before, after, cases = tmp_path / "before.py", tmp_path / "after.py", tmp_path / "cases.toml"
    before.write_text(source, encoding="utf-8")
    shutil.copy(before, after)
    cases.write_text(CASES, encoding="utf-8")
    rewritten = command("rewrite", "--write", after)
    assert rewritten.returncode == 0, rewritten.stdout + rewritten.stderr
    assert "source=" in after.read_text(encoding="utf-8") and "data=" not in after.read_text(encoding="utf-8")
    assert command("check", "--target", "0.6", after).returncode == 0
    proof = command("verify", before, after, "--cases", cases, "--target", "0.6")
    assert proof.returncode == 0 and "1 equal" in proof.stdout + proof.stderr, proof.stdout + proof.stderr


def test_the_old_name_is_refused_and_found(command: Command, tmp_path: Path) -> None:
    kernel = tmp_path / "kernel.py"
    kernel.write_text(BETA2, encoding="utf-8")
    found = command("check", "--target", "0.6", kernel)
    assert found.returncode == 1 and "'data'" in found.stdout + found.stderr
