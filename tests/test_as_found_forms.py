"""Forms of kernels as people write them, or compilers for them, each proved on a small kernel of ours."""

from __future__ import annotations

from pathlib import Path

import pytest
from nki_migrate.cli import main

HEAD = (
    "import neuronxcc.nki as nki\nimport neuronxcc.nki.isa as nisa\nimport neuronxcc.nki.language as nl\n"
    "import numpy as np\n\n\n"
)


def verified(directory: Path, capsys: pytest.CaptureFixture[str], source: str, *cases: str) -> str:
    """What ``verify --migrate --unsafe`` says of a kernel ``k``."""
    (directory / "kernel.py").write_text(HEAD + source)
    tables = (f'[[case]]\nkernel = "k"\n[case.args]\n{case}\n' for case in cases)
    (directory / "cases.toml").write_text("\n".join(tables))
    with pytest.raises(SystemExit):
        main(["verify", "--migrate", "--unsafe", "--no-cache", str(directory / "kernel.py")])
    return capsys.readouterr().out


def tensors(**shapes: list[int]) -> str:
    return "\n".join(f'{name} = {{shape = {shape}, dtype = "float32"}}' for name, shape in shapes.items())


ONE_FOR_ALL = """
def scaled(v1, v2, v3):
    rows, columns = v1.shape
    ix = nl.arange(rows)[:, None]
    iy = nl.arange(columns)[None, :]
    one = nl.ndarray((nl.par_dim(1), 1), dtype=np.float32, buffer=nl.sbuf)
    all = nl.ndarray((nl.par_dim(rows), columns), dtype=np.float32, buffer=nl.sbuf)
    one[0, 0] = nl.copy(v2[0, 0], dtype=np.float32)
    all[ix, iy] = nl.multiply(v1[ix, iy], one[0, 0], dtype=np.float32)
    v3[ix, iy] = nl.copy(all[ix, iy])

@nki.jit
def k(x, y):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    result = nl.ndarray(t.shape, dtype=t.dtype, buffer=nl.sbuf)
    scaled(t, nl.load(y), result)
    nl.store(out, result)
    return out
"""


def test_one_partition_for_all_partitions_may_be_copied_where_there_is_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = verified(tmp_path, capsys, ONE_FOR_ALL, tensors(x=[1, 128], y=[1, 1]), tensors(x=[64, 128], y=[1, 1]))
    assert "2 cases: 2 equal" in said, said


def test_negative_numbers_of_a_numpy_type_are_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = """
@nki.jit
def k(x):
    out = nl.ndarray(x.shape, dtype=nl.int32, buffer=nl.shared_hbm)
    ix = nl.arange(64)[:, None]
    iy = nl.arange(32)[None, :]
    t = nl.load(x)
    less = nl.ndarray((nl.par_dim(64), 32), dtype=np.int32, buffer=nl.sbuf)
    less[ix, iy] = nisa.tensor_scalar(data=t[ix, iy], op0=nl.add, operand0=np.dtype(np.int32).type(-1), dtype=np.int32)
    nl.store(out, less)
    return out
"""
    said = verified(tmp_path, capsys, source, tensors(x=[64, 32]))
    assert "1 case: 1 equal" in said, said


def test_an_f_string_prints_what_is_spelled_otherwise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = """
@nki.jit
def k(x):
    blocks, rows, columns = x.shape
    tiles = nl.ndarray((blocks, nl.par_dim(rows), columns), dtype=x.dtype, buffer=nl.sbuf)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for b in nl.affine_range(blocks):
        tiles[b] = nl.load(x[b])
        assert x.dtype == tiles.dtype, f"{tiles.dtype=} of {tiles.shape!r}, not '{x.dtype}'"
        nl.store(out[b], tiles[b])
    return out
"""
    said = verified(tmp_path, capsys, source, tensors(x=[2, 16, 32]))
    assert "1 case: 1 equal" in said and "finding" not in said, said
