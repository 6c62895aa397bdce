"""The truth of a condition that the new kernel asks for, whatever the condition's type is."""

from __future__ import annotations

from pathlib import Path

import pytest
from first_rung import Options, rewrite
from nki_migrate.runtime.compare import LevelVerdict
from nki_migrate.verify_command import Asked, verified

KERNEL = """
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

@nki.jit
def choose(x, condition):
    out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.load(x[0:128, 0:64], dtype=nl.float32)
    c = nl.load(condition[0:128, 0:64])
    nl.store(out, value=nl.where(c, a, -1.0))
    return out
"""
ASKED = "nisa.tensor_scalar(dst=tensor_scalar_tile, data=c, op0=nl.not_equal, operand0=0.0)"


def operands(tmp_path: Path, dtype: str, new: str) -> LevelVerdict:
    (tmp_path / "k.py").write_text(KERNEL)
    (tmp_path / "new.py").write_text(new)
    fill = '"integers", low = 0, high = 2' if "int" in dtype else '"normal"'
    condition = f'condition = {{shape = [128, 64], dtype = "{dtype}", fill = {fill}}}'
    case = f'[[case]]\nkernel = "choose"\n[case.args]\nx = {{shape = [128, 64], dtype = "float32"}}\n{condition}\n'
    (tmp_path / "cases.toml").write_text(case)
    paths = (str(tmp_path / "k.py"), str(tmp_path / "new.py"))
    (result,) = verified(Asked(paths, cases=str(tmp_path / "cases.toml"), jobs=2)).proof.results
    return result.levels[1]


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_the_truth_of_a_condition_that_is_one_is_the_condition(tmp_path: Path, dtype: str) -> None:
    new = rewrite(KERNEL, Options(unsafe=True)).source
    assert ASKED in new
    level = operands(tmp_path, dtype, new)
    assert level.verdict.value == "equal", level
    said = "1 tensor_scalar more after: the truth of a condition that is one, declared by NKI022" in level.notes
    assert said is (dtype == "uint8")


@pytest.mark.parametrize(
    "wrong",
    [
        ASKED.replace("not_equal", "equal"),
        ASKED.replace("0.0)", "1.0)"),
        ASKED + "\n    nisa.memset(dst=c, value=0)",
        ASKED.replace("data=c", "data=a"),
    ],
    ids=["another operator", "another number", "written again", "another tile"],
)
def test_another_truth_is_different(tmp_path: Path, wrong: str) -> None:
    new = rewrite(KERNEL, Options(unsafe=True)).source
    assert operands(tmp_path, "uint8", new.replace(ASKED, wrong)).verdict.value != "equal"
