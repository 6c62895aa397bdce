"""A kernel that a rewrite leaves to the kernels that call it is a function after, and is compared alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from nki_migrate.verify_command import Asked, verified

KERNELS = """
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

@nki.jit
def twice(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nl.multiply(nl.load(x), 2.0))
    return out

@nki.jit
def four(x):
    return twice(twice(x))
"""
CASE = '[[case]]\nkernel = "twice"\n[case.args]\nx = {shape = [128, 64], dtype = "float32"}\n'


def test_a_kernel_that_becomes_a_function_is_launched_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("k.py").write_text(KERNELS)
    Path("cases.toml").write_text(CASE)
    proof = verified(Asked(("k.py",), migrate=True, unsafe=True, jobs=2)).proof
    result = next(each for each in proof.results if each.kernel == "twice")
    assert result.verdict.value == "equal"
    notes = [note for level in result.levels for note in level.notes]
    assert "after: 'twice' is a function of the kernels that call it, and was launched alone" in notes


def test_a_function_beside_a_kernel_is_no_kernel_where_nothing_was_rewritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("old.py").write_text(KERNELS)
    Path("new.py").write_text(KERNELS.replace("@nki.jit\ndef twice", "def twice"))
    Path("cases.toml").write_text(CASE)
    proof = verified(Asked(("old.py", "new.py"), jobs=2)).proof
    assert next(each for each in proof.results if each.kernel == "twice").verdict.value == "error"


WRITES = """
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

@nki.jit(kernel_return=False)
def scaled(x, out, rest):
    nl.store(rest[0:64], value=nl.load(x[64:128]))
    nl.store(out[0:64], value=nl.multiply(nl.load(x[0:64]), 2.0))

@nki.jit
def both(x):
    out = nl.ndarray((64, 32), dtype=x.dtype, buffer=nl.shared_hbm)
    rest = nl.ndarray((64, 32), dtype=x.dtype, buffer=nl.shared_hbm)
    scaled(x, out, rest)
    return out, rest
"""


def test_what_such_a_function_writes_to_its_arguments_is_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    args = "".join(f'{n} = {{shape = [64, 32], dtype = "float32", output = true}}\n' for n in ("out", "rest"))
    Path("cases.toml").write_text(
        f'[[case]]\nkernel = "scaled"\n[case.args]\nx = {{shape = [128, 32], dtype = "float32"}}\n{args}'
    )
    Path("k.py").write_text(WRITES)
    proof = verified(Asked(("k.py",), migrate=True, unsafe=True, jobs=2)).proof
    result = next(each for each in proof.results if each.kernel == "scaled")
    assert result.verdict.value == "equal" and "2 outputs" in result.levels[-1].summary


def test_such_a_function_may_return_a_tensor_of_any_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("k.py").write_text(KERNELS.replace("buffer=nl.shared_hbm", "buffer=nl.hbm", 1))
    Path("cases.toml").write_text(CASE)
    proof = verified(Asked(("k.py",), migrate=True, unsafe=True, jobs=2)).proof
    assert next(each for each in proof.results if each.kernel == "twice").verdict.value == "equal"
