"""Names that are parts of different tensors, or a part and a whole tensor, in the branches of a condition."""

from __future__ import annotations

import pytest
from first_rung import rewrite
from nki_migrate.runtime.cases import TensorSpec

SOURCE = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


def moved(src, out):
    p, f = src.shape
    raw = src.view(nl.uint8)
    i_p = nl.arange(p)[:, None]
    i_f = nl.arange(f)[None, :] * 4 + 1
    out[...] = nl.copy(raw[i_p, i_f])


@nki.jit
def k(x, flag):
    out = nl.ndarray((3, 32, 8), dtype=nl.uint8, buffer=nl.shared_hbm)
    tile = nl.ndarray((nl.par_dim(32), 3, 12), dtype=nl.int32)
    tile[...] = nl.load(x)
    other = nl.ndarray((nl.par_dim(32), 4, 20), dtype=nl.int32)
    other[:, 0:3, 0:12] = nl.copy(tile)
    other[:, 3, :] = nl.copy(other[:, 0, :])
    for i in nl.affine_range(3):
        {lines}
        low = nl.ndarray((nl.par_dim(32), 8), dtype=nl.uint8)
        moved(part, low)
        nl.store(out[i], low)
    return out
"""
X = TensorSpec((32, 3, 12), "int32", "integers", low=-70000, high=70000)
COPY, PART = "part = nl.copy(tile[:, i, 2:10])", "part = tile[:, i, 2:10]"


def source(*lines: str) -> str:
    return SOURCE.format(lines="\n        ".join(lines))


def either(a: str, b: str) -> tuple[str, ...]:
    return ("if flag:", f"    {a}", "else:", f"    {b}")


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize(
    "lines",
    [
        either(COPY, PART),
        either(PART, COPY),
        either(PART, "part = other[:, i + 1, 4:12]"),
        either(PART, "part = other[:, 3 - i, 0:8]"),
        either(COPY, "part = tile[:, i, nl.ds(i + 1, 8)]"),
        (PART, "if flag:", f"    {COPY}"),
        (COPY, "if flag:", f"    {PART}"),
        ("n = i + 1", *either("part = nl.copy(other[:, n, 0:8])", "part = other[:, n, 1:9]")),
        (*either(COPY, PART), "if x.shape[1] > 3:", "    part = other[:, 2, 3:11]"),
    ],
)
def test_what_is_taken_of_either_part_is_the_same(migrate, lines, flag):
    migration = migrate(source(*lines), {"x": X, "flag": flag})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


def test_names_that_nothing_reads_are_not_written():
    header, _, rest = source(*either(COPY, PART)).partition("def moved")
    kernel = header + "@nki.jit" + rest.partition("@nki.jit")[2].replace("moved(part, low)", "low[...] = nl.copy(part)")
    outcome = rewrite(kernel)
    assert outcome.findings == () and "part_tensor" not in outcome.source


@pytest.mark.parametrize(
    "lines",
    [
        either(PART, "part = other[:, 0:1, 4:12].reshape((32, 8))"),
        either(PART, "part = tile[:, 0:3, 2].reshape((32, 3))"),
        (
            "kept = tile[:, 0, 0:8]",
            "for j in range(2):",
            "    moved(kept, nl.ndarray((nl.par_dim(32), 8), dtype=nl.uint8))",
            *(f"    {line}" for line in either(COPY, "part = tile[:, j, 2:10]")),
            "    kept = part",
        ),
        ("part = tile[:, 0, 0:8]", "for j in range(2):", *(f"    {line}" for line in either(COPY, PART))),
        ("if flag:", f"    {COPY}", "elif x.shape[0] > 3:", f"    {PART}", "else:", "    part = other[:, 0, 0:8]"),
        (*either(COPY, PART), "whole = part", "part = whole"),
        (*either(COPY, PART), "kept = part", *either(PART, COPY), "part = kept"),
    ],
)
def test_other_shapes_and_names_that_outlive_the_part_are_left_alone(migrate, lines):
    migration = migrate(source(*lines), {"x": X, "flag": False})
    assert migration.outcome.findings or migration.trouble == ()


def test_a_nested_function_sees_the_part(migrate):
    lines = (
        *either(COPY, PART),
        "def low_bytes(low):",
        "    raw = part.view(nl.uint8)",
        "    low[...] = nl.copy(raw[:, 0:8])",
    )
    text = source(*lines).replace("moved(part, low)", "low_bytes(low)")
    for flag in (True, False):
        migration = migrate(text, {"x": X, "flag": flag})
        assert migration.outcome.findings or migration.trouble == ()


PSUM = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def k(x, flag):
    out = nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.load(x[0:64, 0:64])
    b = nl.load(x[64:128, 0:64])
    p = nl.ndarray((nl.par_dim(64), 64), dtype=nl.float32, buffer=nl.psum)
    q = nl.ndarray((nl.par_dim(64), 64), dtype=nl.float32, buffer=nl.psum)
    p[...] = nisa.nc_matmul(a, b)
    q[...] = nisa.nc_matmul(b, b)
    {lines}
    return out
"""
HELPER = """\
def product(a, b, mask):
    rows, *free = a.shape
    first, *between, last = a.shape
    assert len(free) == 1 and between == [] and free + [last] == [64, 64] and isinstance(free, list)
    a = nl.copy(a, mask=mask)
    part = b[mask] if mask else b
    return nl.copy(nisa.nc_matmul(a, part))


"""
SQUARE = {"x": TensorSpec((128, 64), "float32", "normal")}


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("value", ["p if flag else q", "a if flag else b", "q if not flag else q"])
def test_a_choice_of_two_tensors_is_a_tensor(migrate, value, flag):
    text = PSUM.format(lines=f"c = {value}\n    nl.store(out, nl.add(nl.copy(c), c))")
    migration = migrate(text, {**SQUARE, "flag": flag})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


def test_an_operand_under_a_mask_that_may_be_left_out(migrate):
    text = PSUM.format(lines="nl.store(out, product(a, b, None))").replace("@nki.jit", HELPER + "@nki.jit")
    migration = migrate(text, {**SQUARE, "flag": True})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "part = b\n" in migration.outcome.source and "*" not in migration.outcome.source.partition("@nki.jit")[0]


@pytest.mark.parametrize(
    "lines",
    [
        "c = p if flag else q",
        "if flag:\n        c = p\n    else:\n        c = q",
        "if flag:\n        c = p[:, 0:64]\n    else:\n        c = q",
        "c = p if flag else q\n    c = c if flag else q",
        "c = p if flag else q\n    d = c\n    c = d",
    ],
)
def test_a_psum_tile_that_a_branch_gives_another_name_is_not_declared_again(migrate, lines):
    text = PSUM.format(lines=f"{lines}\n    p[...] = nisa.nc_matmul(b, a)\n    nl.store(out, nl.copy(c))")
    for flag in (True, False):
        migration = migrate(text, {**SQUARE, "flag": flag})
        assert any(f.message == "'p' is overwritten by a second matmul" for f in migration.outcome.findings)


def test_a_name_that_keeps_the_part_of_an_iteration_has_no_place(migrate):
    lines = (
        "kept = tile[:, 0, 0:8]",
        "for j in range(3):",
        *(f"    {line}" for line in either(COPY, "part = tile[:, j, 2:10]")),
    )
    text = source(*lines, "    if j == 0:", "        kept = part", "part = kept")
    for flag in (True, False):
        migration = migrate(text, {"x": X, "flag": flag})
        assert migration.outcome.findings or migration.trouble == ()
