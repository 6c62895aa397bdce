"""Masks: what a mask leaves out, and what it does not concern."""

from __future__ import annotations

import pytest
from first_rung import rewrite
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x, y):
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p = nl.arange(64)[:, None]
    i_f = nl.arange(columns)[None, :]
    for r in nl.static_range((rows + 63) // 64 + 1):
        inside = r * 64 + i_p < rows
        tile = nl.zeros((64, columns), dtype=nl.float32, buffer=nl.sbuf)
        tile[i_p, i_f] = nl.load(x[r * 64 + i_p, i_f], mask=inside)
        nl.store(out[r * 64 + i_p, i_f], value=tile, mask=inside)
        nl.store(out[r * 64 + i_p, i_f], value={value}, mask=inside & (r == 1))
    return out
"""


@pytest.mark.parametrize(
    "value",
    [
        "nl.exp(nl.multiply(tile, 2.0))",
        "nl.load(y[r * 64 + i_p, i_f], mask=inside)",
        "nl.multiply(tile, nl.load(y[r * 64 + i_p, i_f], mask=inside))",
    ],
)
@pytest.mark.parametrize("rows", [1, 64, 65, 130])
def test_the_condition_of_a_store_does_not_stop_the_computation_of_its_value(migrate, value, rows):
    tensor = TensorSpec((rows, 9), "float32", "normal")
    migration = migrate(KERNEL.format(value=value), {"x": tensor, "y": tensor})
    assert migration.outcome.findings == ()
    assert migration.trouble == ()


TRANSPOSED = """\
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
from nki.language.constants import sizeinbytes


@nki.jit
def k(x):
    shape = x.shape
    rows, columns = int(np.prod(shape[:-1])), shape[-1]
    x = x.reshape((rows, columns))
    out = nl.ndarray((columns, rows), dtype=x.dtype, buffer=nl.shared_hbm)
    wide = 256 // sizeinbytes(x.dtype)
    for t in nl.affine_range((rows + wide - 1) // wide):
        tile = nl.ndarray((wide, columns), dtype=x.dtype, buffer=nl.sbuf)
        turned = nl.ndarray((columns, wide), dtype=x.dtype, buffer=nl.sbuf)
        i = nl.arange(wide)[:, None]
        j = nl.arange(columns)[None, :]
        tile[i, j] = nl.load(x[t * wide + i, j], mask=t * wide + i < rows)
        p = nl.arange(columns)[:, None]
        q = nl.arange(wide)[None, :]
        turned[p, q] = nisa.nc_transpose(tile[i, j], mask=t * wide + i < rows)
        nl.store(out[p, t * wide + q], turned[p, q], mask=t * wide + q < rows)
    return out
"""


def test_a_masked_transpose_into_sbuf_copies_what_the_mask_leaves(migrate):
    migration = migrate(TRANSPOSED, {"x": TensorSpec((3, 50, 20), "float32")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "src=tile_transposed[:, 0:i_size]" in migration.outcome.source
    assert "int(product(shape[:-1]))" in migration.outcome.source
    assert "nki.language.constants" not in migration.outcome.source


FIRST = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def k(x, n):
    out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    i_p = nl.arange(32)[:, None]
    i_f = nl.arange(20)[None, :]
    for t in nl.affine_range(3):
        first = {first} < n
        a = nl.load({place}, dtype=nl.float32, mask=first)
        b = nl.multiply(a, 2.0, mask=first)
        c = nl.add(a, b, mask=first)
        nl.store({out}, value=c, mask=first)
    return out
"""
WHOLE_ROWS = FIRST.format(first="t * 640 + 20 * i_p + i_f", place="x[t, i_p, i_f]", out="out[t, i_p, i_f]")
FLAT = FIRST.format(
    first="t * 640 + 20 * i_p + i_f", place="x[t * 640 + 20 * i_p + i_f]", out="out[t * 640 + 20 * i_p + i_f]"
)
LONG_ROWS = FIRST.format(first="t * 800 + 25 * i_p + i_f", place="x[t, i_p, i_f]", out="out[t, i_p, i_f]")


@pytest.mark.parametrize("n", [1, 19, 20, 21, 25, 39, 640, 641, 800, 1301, 1919, 1920, 2395, 2396, 3000])
@pytest.mark.parametrize(("source", "shape"), [(WHOLE_ROWS, (3, 32, 20)), (FLAT, (1920,)), (LONG_ROWS, (3, 32, 20))])
def test_the_first_elements_row_by_row_are_whole_rows_and_a_part_of_the_next(migrate, source, shape, n):
    migration = migrate(source, {"x": TensorSpec(shape, "float32", "normal"), "n": n})
    assert migration.outcome.findings == () and migration.trouble == ()


@pytest.mark.parametrize("n", [1, 19, 20, 21, 641, 1301, 1919])
def test_the_elements_behind_the_first_ones_may_be_out_of_bounds(migrate, n):
    migration = migrate(FLAT, {"x": TensorSpec((n,), "float32", "normal"), "n": n})
    assert migration.outcome.findings == () and migration.trouble == ()


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("t = nl.load(x[i_p, i_f], mask=15 * i_p + i_f < n)", "no upper bound"),
        ("t = nl.load(x[i_p, i_f], mask=i_p + 32 * i_f < n)", "no upper bound"),
        ("t = nl.load(x[i_p, i_f], mask=20 * i_p + i_f >= n)", "no upper bound"),
        ("t = nl.load(x[i_p, i_f], mask=20 * i_p + 2 * i_f < n)", "no upper bound"),
        ("s[i_p, i_f] = nl.exp(s[i_p, i_f], mask=20 * i_p + i_f < n)", "activation under a mask of the first elements"),
        ("t = nl.sum(s[i_p, i_f], axis=1, mask=20 * i_p + i_f < n)", "tensor_reduce under a mask of the first"),
        ("t = nisa.nc_transpose(s[i_p, i_f], mask=20 * i_p + i_f < n)", "nc_transpose under a mask of the first"),
        ("t = nl.exp(s[i_q, i_f], mask=20 * i_p + i_f < n)", "the mask bounds 'i_p'"),
        ("t = nl.load(x[i_p, i_g], mask=20 * i_p + i_f < n)", "the mask bounds 'i_f'"),
    ],
)
def test_what_the_first_elements_row_by_row_are_no_rows_of_is_left_and_said(statement, message):
    source = f"""\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def k(x, n):
    i_p = nl.arange(32)[:, None]
    i_f = nl.arange(20)[None, :]
    i_q = nl.arange(16)[:, None]
    i_g = nl.arange(10)[None, :]
    s = nl.zeros((32, 20), dtype=nl.float32, buffer=nl.sbuf)
    {statement}
"""
    findings = [f for f in rewrite(source).findings if f.line == 13]
    message = "a mask that is not an upper bound of one index vector" if message == "no upper bound" else message
    assert any(message in finding.message for finding in findings)


@pytest.mark.parametrize(
    ("limit", "left"), [("n / 3", True), ("half + 1", True), ("n // 3", False), ("int(n / 3)", False)]
)
def test_a_mask_up_to_a_quotient_is_left(limit, left):
    source = (
        "import neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\n\n\n@nki.jit\n"
        "def k(x, n):\n    half = n / 2\n"
        "    out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "    i_p, i_f = nl.mgrid[0:128, 0:64]\n"
        f"    nl.store(out[i_p, i_f], value=nl.load(x[i_p, i_f]), mask=i_f < {limit})\n    return out\n"
    )
    assert any("a quotient, which may be no integer" in f.message for f in rewrite(source).findings) == left


GUARDED = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x, y):
    rows, columns = x.shape
    out = nl.ndarray((3, columns, rows), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p, i_f = nl.arange(rows)[:, None], nl.arange(columns)[None, :]
    for r in nl.static_range(3):
        tile = nl.zeros((columns, rows), dtype=x.dtype, buffer=nl.sbuf)
        tile[...] = nl.load_transpose2d(x[i_p, i_f][r < 2], dtype=x.dtype)
        nl.store(out[r], value=nl.copy(tile))
    return out
"""


def test_a_condition_behind_an_operand_guards_the_instruction(migrate):
    tensor = TensorSpec((20, 9), "float32", "normal")
    migration = migrate(GUARDED, {"x": tensor, "y": tensor})
    assert migration.outcome.findings == ()
    assert migration.trouble == ()


def test_a_bound_behind_an_operand_of_anything_but_a_matmul_is_a_finding():
    outcome = rewrite(GUARDED.replace("[r < 2]", "[i_p < 2]"))
    assert "a mask on an operand of anything but a matmul" in {f.message for f in outcome.findings}


CHOSEN = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def k(x, wider):
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x)
    i_p, i_f = nl.mgrid[0:rows, 0:columns]
    moved = i_p * 2
    below = i_p >= i_f
    if wider:
        below = moved >= i_f
    nl.store(out, value=nisa.affine_select(pred=below, on_true_tile=tile, on_false_value=0.0))
    return out
"""


def test_what_a_statement_that_is_left_alone_reads_through_others_is_kept():
    outcome = rewrite(CHOSEN)
    assert "NKI027" in [f.code for f in outcome.findings]
    for line in ("i_p, i_f = nl.mgrid[0:rows, 0:columns]", "moved = i_p * 2", "below = moved >= i_f"):
        assert line in outcome.source
        number = CHOSEN[: CHOSEN.index(line)].count("\n") + 1
        assert number in [f.line for f in outcome.findings]


RETURNED = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def doubled(tile, late):
    return nl.add(tile, tile{mask})


@nki.jit
def k(x):
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for t in nl.affine_range(tiles):
        tile = nl.load(x[t])
        tile[...] = doubled(tile, t >= 1)
        nl.store(out[t], value=tile)
    return out
"""


def test_what_a_function_returns_under_a_mask_does_not_overwrite_a_tile(migrate):
    findings = rewrite(RETURNED.format(mask=", mask=late")).findings
    assert any("'doubled' returns a result under a mask" in finding.message for finding in findings)
    migration = migrate(RETURNED.format(mask=", mask=None"), {"x": TensorSpec((3, 16, 8), "float32", "normal")})
    assert migration.outcome.findings == () and migration.before.outputs == migration.after.outputs


MAY_BE_NONE = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


class Options:
    def __init__(self, mask):
        self.mask = mask


def guard(t, causal):
    if causal:
        return t < 2
    return None


@nki.jit
def k(x, causal):
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for t in nl.affine_range(tiles):
        tile = nl.zeros((rows, columns), dtype=x.dtype)
        {before}
        tile[...] = nl.load(x[t], mask={mask})
        nl.store(out[t], value=tile)
    return out
"""


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(
    ("before", "mask"),
    [
        ("", "(t < 2) if causal else None"),
        ("", "None if not causal else (t < 2)"),
        ("", "guard(t, causal)"),
        ("options = Options(None)", "options.mask"),
        ("masks = [None, t < 2]", "masks[causal]"),
        ("mask = guard(t, causal)", "mask"),
        ("n = 2\n\n        def keep(t):\n            return t < n if causal else None\n", "keep(t)"),
    ],
)
def test_a_mask_that_is_none_masks_nothing(migrate, before, mask, causal):
    source = MAY_BE_NONE.replace("{before}", before).replace("{mask}", mask)
    migration = migrate(source, {"x": TensorSpec((3, 16, 4), "float32", "normal"), "causal": causal})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


@pytest.mark.parametrize(
    ("before", "mask"),
    [
        ("from elsewhere import tile_mask", "tile_mask(t, rows)"),
        ("i_p, i_f = nl.mgrid[0:rows, 0:columns]\n        masks = [i_p < 2]", "masks[0]"),
    ],
)
def test_a_mask_of_which_nothing_is_known_is_a_finding(before, mask):
    outcome = rewrite(MAY_BE_NONE.replace("{before}", before).replace("{mask}", mask))
    assert any(f.code == "NKI025" and "it is not known what the mask" in f.message for f in outcome.findings)


TWO_VECTORS = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x, tile, n, m):
    rows, columns = x.shape
    out = nl.ndarray((tile, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p, i_f = nl.arange(tile)[:, None], nl.arange(columns)[None, :]
    j_p = nl.arange(rows)[:, None]
    part = nl.load(x[i_p, i_f])
    nl.store(out[i_p, i_f], value=part)
    nl.store(out[i_p, i_f], value=nl.exp(part), mask=(i_p < n) & (2 + j_p < m) & (i_p < n))
    return out
"""


@pytest.mark.parametrize(("n", "m"), [(7, 30), (20, 9), (3, 1), (0, 20), (40, 40)])
def test_two_bounds_of_one_dimension_are_the_smaller_one(migrate, n, m):
    migration = migrate(TWO_VECTORS, {"x": TensorSpec((20, 9), "float32", "normal"), "tile": 20, "n": n, "m": m})
    assert (migration.outcome.findings, migration.trouble) == ((), ())
    assert "i_p_size_2 = min(i_p_size, m - 2)" in migration.outcome.source
    assert "if i_p_size_2 > 0:" in migration.outcome.source


DECIDED = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def k(x, first=False, second=False, log=print):
    out = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x)
    i_p, i_f = nl.mgrid[0:128, 0:64]
    below = i_p >= i_f
    {condition}
            below = i_p + 10 >= i_f{comment}
    nl.store(out, value=nisa.affine_select(pred=below, on_true_tile=tile, on_false_value=0.0, dtype=nl.float32))
    return out
"""


@pytest.mark.parametrize(
    ("condition", "comment", "stays"),
    [
        ("if first:\n        if second:", "", False),
        ("if first:\n        if second:", "  # further", False),
        ("if first:\n        # why\n        if second:", "", True),
        ("if first:\n        if len(x.shape) == 2:", "", True),
    ],
)
def test_a_condition_goes_with_what_it_decided_unless_it_has_a_comment(condition, comment, stays):
    outcome = rewrite(DECIDED.format(condition=condition, comment=comment))
    assert ("    if first:" in outcome.source) == stays
    assert all(text in outcome.source for text in ("# further", "# why") if text in condition + comment)
    assert bool(outcome.findings) == ("len" in condition), outcome.findings
