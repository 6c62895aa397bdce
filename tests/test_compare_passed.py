"""``nl.broadcast_to`` to the shape that a tile has: Beta 1 gives the tile back, what is written copies it."""

from __future__ import annotations

from pathlib import Path

import pytest
from nki_migrate.runtime.cases import DtypeSpec, TensorSpec
from nki_migrate.verdicts import Proof
from nki_migrate.verify import proved

OLD = """
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def spread(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    s = nisa.tensor_scalar(t[:, 0:1], np.add, 1.0)
    wide = {given}
    nl.store(out{part}, value=nisa.tensor_scalar(wide{part}, np.multiply, 2.0))
    return out
""".replace("\n\n\n@nki", "\nimport numpy as np\n\n\n@nki", 1)
NEW = """
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def spread(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=x)
    s = nl.ndarray((x.shape[0], 1), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=s, data=t[:, 0:1], op0=nl.add, operand0=1.0)
    wide = nl.ndarray(x.shape, dtype={dtype}, buffer=nl.sbuf)
    nisa.tensor_copy(dst=wide, src={src})
    u = nl.ndarray({size}, dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=u, data=wide{part}, op0=nl.multiply, operand0=2.0)
    nisa.dma_copy(dst=out{part}, src=u)
    return out
"""
PARTS = {"[:, :]": (8, 6), "[0:3, :]": (3, 6), "[:, 1:4]": (8, 3), "[0:1, 2:3]": (1, 1)}
"""Subscripts, and the shapes of what they take."""
PASSED = "nl.broadcast_to(t, shape=x.shape)"


@pytest.fixture
def compared(tmp_path: Path):  # type: ignore[no-untyped-def]
    def verify(given: str, part: str = "[:, :]", src: str = "t", dtype: str = "x.dtype") -> Proof:
        (tmp_path / "before.py").write_text(OLD.format(given=given, part=part))
        (tmp_path / "after.py").write_text(NEW.format(part=part, src=src, dtype=dtype, size=PARTS[part]))
        case = '[[case]]\nkernel = "spread"\n[case.args]\nx = {shape = [8, 6], dtype = "float32"}\n'
        (tmp_path / "cases.toml").write_text(case)
        return proved(tmp_path / "before.py", tmp_path / "after.py", level="operands")

    return verify


@pytest.mark.parametrize("part", PARTS)
def test_the_copy_stands_for_its_source(compared, part: str) -> None:  # type: ignore[no-untyped-def]
    (result,) = compared(PASSED, part).results
    operands = {level.level: level for level in result.levels}["operands"]
    assert operands.verdict.value == "equal"
    (note,) = operands.notes
    assert note == "1 tensor_copy more after: of a tile that has the shape and type asked for, declared by NKI022"


@pytest.mark.parametrize(
    ("given", "changed"),
    [
        ("t", {}),  # nothing asks for a copy
        (PASSED, {"dtype": "nl.bfloat16"}),  # a copy that converts
        (PASSED, {"src": "t.ap(pattern=[[6, 8], [0, 6]])"}),  # a copy of something else
    ],
)
def test_any_other_copy_is_a_difference(compared, given: str, changed: dict[str, str]) -> None:  # type: ignore[no-untyped-def]
    (result,) = compared(given, **changed).results
    assert result.verdict.value == "different"


WHERE = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x, y, dtype):
    out = nl.ndarray(x.shape, dtype=dtype, buffer=nl.shared_hbm)
    a = nl.load(x)
    product = nl.matmul(a, nl.load(y), transpose_x=True)
    chosen = nl.where(nl.greater(a, 0.0), product, 0.0, dtype=dtype)
    nl.store(out, value=chosen)
    return out
"""


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_first_choice_in_the_type_that_is_asked_for_is_copied(migrate, dtype: str) -> None:  # type: ignore[no-untyped-def]
    tensor = TensorSpec((16, 16), "float32", "normal")
    migration = migrate(WHERE, {"x": tensor, "y": tensor, "dtype": DtypeSpec(dtype)})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
