"""Scratch of a kernel that is private before and in shared HBM after: the same on one core, and not on several."""

from __future__ import annotations

from pathlib import Path

import pytest
from nki_migrate.runtime.compare import LevelVerdict
from nki_migrate.verify import proved

OLD = """
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def doubled(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    scratch = nl.ndarray((64, 8), dtype=x.dtype, buffer=nl.{kind})
    {program}
    rows = nl.ds(program * 64, 64)
    nl.store(scratch, value=nl.load(x[rows, :]))
    nl.store(out[rows, :], value=nl.load(scratch))
    return out
"""
NEW = OLD.replace("neuronxcc.nki as nki", "nki").replace("neuronxcc.nki.language", "nki.language")
CASE = '[[case]]\nkernel = "doubled"\n{grid}[case.args]\nx = {{shape = [128, 8], dtype = "float32"}}\n'


def operands(folder: Path, before: str, after: str, cores: int) -> LevelVerdict:
    program = "program = nl.program_id(0)" if cores > 1 else "program = 1"
    (folder / "before.py").write_text(OLD.format(kind=before, program=program))
    (folder / "after.py").write_text(NEW.format(kind=after, program=program))
    (folder / "cases.toml").write_text(CASE.format(grid=f"grid = [{cores}]\n" if cores > 1 else ""))
    (result,) = proved(folder / "before.py", folder / "after.py", level="operands").results
    return next(level for level in result.levels if level.level == "operands")


@pytest.mark.parametrize("before", ["hbm", "private_hbm"])
def test_on_one_core_shared_scratch_is_private(tmp_path: Path, before: str) -> None:
    level = operands(tmp_path, before, "shared_hbm", cores=1)
    assert level.verdict.value == "equal"
    assert level.notes[0] == "1 private tensor is in nl.shared_hbm after: on one core that is the same"


def test_on_two_cores_it_is_one_tensor_for_both(tmp_path: Path) -> None:
    level = operands(tmp_path, "private_hbm", "shared_hbm", cores=2)
    assert level.verdict.value == "different"
    assert "nl.shared_hbm" in level.differences[0].message


@pytest.mark.parametrize(("before", "after"), [("hbm", "private_hbm"), ("shared_hbm", "shared_hbm")])
def test_the_same_kind_has_no_note(tmp_path: Path, before: str, after: str) -> None:
    assert not any("private tensor" in note for note in operands(tmp_path, before, after, cores=1).notes)


def test_shared_scratch_that_is_private_after_is_another_tensor(tmp_path: Path) -> None:
    assert operands(tmp_path, "shared_hbm", "private_hbm", cores=1).verdict.value == "different"
