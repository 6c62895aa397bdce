"""Damage to the source of a correct migration, end to end: every one is caught, at the level that it belongs to."""

from __future__ import annotations

from pathlib import Path

import pytest
from nki_migrate.verify import proved

OLD = """
import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np


@nki.jit
def products(x, y):
    n, rows, columns = x.shape
    valid = rows - 28
    out = nl.ndarray((n, columns, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    sca = 64
    right = nl.ndarray((nl.par_dim(rows), columns), dtype=y.dtype, buffer=ncc.sbuf.mod_alloc(base_addr=sca))
    sca += columns * 4
    right[...] = nl.load(y)
    for g in nl.affine_range(2):
        total = nl.ndarray((nl.par_dim(columns), columns), dtype=np.float32, buffer=ncc.psum.mod_alloc(base_bank=1))
        left = nl.ndarray((2, nl.par_dim(rows), columns), dtype=x.dtype,
                          buffer=ncc.sbuf.mod_alloc(base_addr=sca, num_free_tiles=(2,)))
        sca += 2 * columns * 4
        result = nl.ndarray((nl.par_dim(columns), columns), dtype=np.float32, buffer=ncc.sbuf.mod_alloc(base_addr=sca))
        sca += columns * 4
        for i in nl.affine_range(2):
            ip = nl.arange(rows)[:, None]
            jf = nl.arange(columns)[None, :]
            left[i] = nisa.memset((rows, columns), 0, x.dtype)
            left[i, ip, jf] = nl.load(x[2 * g + i, ip, jf], mask=(ip < valid))
            total[...] += nisa.nc_matmul(left[i], right)
        result[...] = nisa.tensor_scalar(total, np.multiply, 0.5)
        result[...] = nisa.tensor_tensor(result, left[0, 0:columns, :], np.subtract)
        for i in nl.affine_range(2):
            nl.store(out[2 * g + i], value=result)
    return out
"""
NEW = """
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def products(x, y):
    n, rows, columns = x.shape
    valid = rows - 28
    out = nl.ndarray((n, columns, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    sca = 64
    right = nl.ndarray((rows, columns), dtype=y.dtype, buffer=nl.sbuf, address=(0, sca))
    sca += columns * 4
    nisa.dma_copy(dst=right, src=y)
    start = sca
    for g in nl.affine_range(2):
        sca = start
        total = nl.ndarray((columns, columns), dtype=nl.float32, buffer=nl.psum, address=(0, 1 * 2048))
        left = []
        for b in range(2):
            left.append(nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf, address=(0, sca + b * columns * 4)))
        sca += 2 * columns * 4
        result = nl.ndarray((columns, columns), dtype=nl.float32, buffer=nl.sbuf, address=(0, sca))
        sca += columns * 4
        for i in nl.affine_range(2):
            nisa.memset(dst=left[i], value=0)
            nisa.dma_copy(dst=left[i][0:valid, :], src=x[2 * g + i, 0:valid, :])
            nisa.nc_matmul(dst=total, stationary=left[i], moving=right)
        nisa.tensor_scalar(dst=result, data=total, op0=nl.multiply, operand0=0.5)
        nisa.tensor_tensor(dst=result, data1=result, data2=left[0][0:columns, :], op=nl.subtract)
        for i in nl.affine_range(2):
            nisa.dma_copy(dst=out[2 * g + i], src=result)
    return out
"""
CASES = """
[[case]]
kernel = "products"
target = "0.2"
[case.args]
x = {shape = [4, 128, 32], dtype = "float32", fill = "integers"}
y = {shape = [128, 32], dtype = "float32", fill = "integers"}
"""
TOTAL = "total = nl.ndarray((columns, columns), dtype=nl.float32, buffer=nl.psum, address=(0, 1 * 2048))"


def _verdicts(tmp_path: Path, new: str) -> dict[str, str]:
    for name, text in (("before.py", OLD), ("after.py", new), ("cases.toml", CASES)):
        (tmp_path / name).write_text(text)
    (result,) = proved(tmp_path / "before.py", tmp_path / "after.py", jobs=2).results
    return {level.level: level.verdict.value for level in result.levels}


def test_the_undamaged_migration_is_equal(tmp_path: Path) -> None:
    assert _verdicts(tmp_path, NEW) == {"layout": "equal", "operands": "equal", "numbers": "equal"}


@pytest.mark.parametrize(
    ("old", "new", "levels"),
    [
        ("address=(0, sca + b * columns * 4)", "address=(0, sca + (b + 1) * columns * 4)", {"layout", "operands"}),
        ("address=(0, sca + b * columns * 4)", "address=(0, sca)", {"layout", "operands", "numbers"}),
        ("        sca = start\n", "", {"layout", "operands"}),
        ("    sca = 64\n", "    sca = 68\n", {"layout", "operands"}),
        ("(0, 1 * 2048)", "(0, 2 * 2048)", {"layout", "operands"}),
        ("buffer=nl.psum, address=(0, 1 * 2048)", "buffer=nl.psum", {"layout", "operands"}),
        ("stationary=left[i], moving=right", "stationary=right, moving=left[i]", {"operands", "numbers"}),
        (
            "data1=result, data2=left[0][0:columns, :]",
            "data1=left[0][0:columns, :], data2=result",
            {"operands", "numbers"},
        ),
        ("data2=left[0][0", "data2=left[1][0", {"operands", "numbers"}),
        ("moving=right", "moving=left[i]", {"operands", "numbers"}),
        (
            "            nisa.nc_matmul(dst=total",
            f"            {TOTAL}\n            nisa.nc_matmul(dst=total",
            {"operands", "numbers"},
        ),
        ("0:valid, :]", "0:valid + 1, :]", {"operands", "numbers"}),
        ("valid = rows - 28", "valid = rows - 29", {"operands", "numbers"}),
        ("            nisa.memset(dst=left[i], value=0)\n", "", {"operands", "numbers"}),
        ("value=0", "value=1", {"operands", "numbers"}),
        ("nl.subtract", "nl.add", {"operands", "numbers"}),
        ("operand0=0.5", "operand0=0.25", {"operands", "numbers"}),
        ("src=x[2 * g + i", "src=x[g + i", {"operands", "numbers"}),
        ("dst=out[2 * g + i]", "dst=out[2 * i + g]", {"operands", "numbers"}),
        ("shape=(rows, columns)", "shape=(rows, columns)", set()),
    ],
    ids=[
        "an address off by one tile",
        "a modulo dropped to one buffer",
        "the address counter not restored",
        "the first address",
        "another bank",
        "no address",
        "matmul operands swapped",
        "subtrahend and minuend swapped",
        "another block",
        "another operand",
        "an accumulator declared in the loop",
        "a clamp off by one",
        "a bound off by one",
        "an initialisation dropped",
        "another initial value",
        "another operator",
        "another immediate",
        "another source",
        "another destination",
        "nothing",
    ],
)
def test_damage_to_the_source_is_caught_at_its_levels(tmp_path: Path, old: str, new: str, levels: set[str]) -> None:
    damaged = NEW.replace(old, new)
    assert (damaged != NEW) == bool(levels)
    found = _verdicts(tmp_path, damaged)
    assert {level for level, verdict in found.items() if verdict == "different"} == levels
    assert set(found.values()) <= {"equal", "different"}


def test_an_accumulator_hoisted_out_of_its_loop_is_caught(tmp_path: Path) -> None:
    hoisted = NEW.replace(f"        {TOTAL}\n", "").replace("    start = sca\n", f"    start = sca\n    {TOTAL}\n")
    assert _verdicts(tmp_path, hoisted) == {"layout": "equal", "operands": "different", "numbers": "different"}
