"""``nl.loop_reduce`` into tensors that are only declared, filled, or another function's."""

from __future__ import annotations

import pytest
from first_rung import Options, rewrite
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def k(x):
    tiles, rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    {declared}
    for t in nl.affine_range(tiles):
        {found}[...] = nl.loop_reduce(nl.load(x[t]), op={op}, loop_indices=[t])
    nl.store(out, value={found})
    return out
"""
TILE = "total = nl.ndarray((nl.par_dim(rows), columns), dtype=x.dtype, buffer=nl.sbuf)"
BLOCKS = "total = nl.ndarray((2, nl.par_dim(rows), columns), dtype=x.dtype, buffer=nl.sbuf)"


@pytest.mark.parametrize("op", ["np.add", "nl.multiply"])
@pytest.mark.parametrize(("declared", "found"), [(TILE, "total"), (BLOCKS, "total[1]")])
@pytest.mark.parametrize("fill", ["normal", "zeros"])
def test_a_reduction_starts_with_its_first_operand(migrate, op, declared, found, fill):
    source = KERNEL.format(declared=declared, found=found, op=op)
    migration = migrate(source, {"x": TensorSpec((3, 64, 16), "float32", fill)})
    assert migration.outcome.findings == ()
    assert "nisa.memset(" in migration.outcome.source
    assert migration.before.outputs == migration.after.outputs
    assert migration.trouble == () or op != "np.add"


@pytest.mark.parametrize("fill", ["total[...] = 0.0", "total[...] = nl.load(x[0])"])
def test_a_tensor_that_is_filled_as_a_whole_is_not_filled_again(migrate, fill):
    source = KERNEL.format(declared=f"{TILE}\n    {fill}", found="total", op="np.add")
    migration = migrate(source, {"x": TensorSpec((3, 64, 16), "float32", "normal")})
    assert migration.outcome.findings == () and migration.trouble == ()
    assert "-0.0" not in migration.outcome.source


AROUND = {
    "only behind the loop": ("", "total[...] = nl.multiply(total, 0.5)"),
    "under a condition": ("if tiles > 5:\n        total[...] = 1.0", ""),
    "in a loop that does not run": ("for _ in range(tiles - 3):\n        total[...] = 1.0", ""),
    "another tensor of the name": (f"total[...] = 1.0\n    {TILE}", ""),
}


@pytest.mark.parametrize("where", AROUND)
def test_a_tensor_that_may_not_be_filled_before_is_filled(migrate, where):
    before, behind = AROUND[where]
    source = KERNEL.format(declared=f"{TILE}\n    {before}", found="total", op="np.add")
    source = source.replace("    nl.store(out, value", f"    {behind}\n    nl.store(out, value")
    migration = migrate(source, {"x": TensorSpec((3, 64, 16), "float32", "normal")})
    assert migration.outcome.findings == () and "value=-0.0)" in migration.outcome.source
    assert migration.before.outputs == migration.after.outputs


@pytest.mark.parametrize(("op", "start"), [("np.max", "-math.inf"), ("np.minimum", "math.inf")])
@pytest.mark.parametrize("special", ["normal", "zeros"])
def test_the_largest_and_the_smallest_start_with_an_infinity(migrate, op, start, special):
    tile = TILE.replace("x.dtype", "nl.float32")
    source = KERNEL.format(declared=tile, found="total", op=op)
    migration = migrate(source, {"x": TensorSpec((3, 64, 16), "float32", special)})
    assert migration.outcome.findings == () and f"value={start})" in migration.outcome.source
    assert migration.trouble == () and migration.before.outputs == migration.after.outputs


def test_a_reduction_that_no_number_starts_is_left_and_said():
    tile = TILE.replace("x.dtype", "nl.int32")
    outcome = rewrite(KERNEL.format(declared=tile, found="total", op="np.max"))
    assert [finding.message for finding in outcome.findings if finding.code == "NKI022"] == [
        "a reduction into 'total', which is only declared"
    ]


def test_a_reduction_into_a_tensor_of_the_caller_is_under_review():
    source = KERNEL.replace(
        "{found}[...] = nl.loop_reduce(nl.load(x[t]), op={op}, loop_indices=[t])", "added(total, x, t)"
    )
    source = source.format(declared=TILE.replace("ndarray(", "zeros("), found="total")
    source += (
        "\n\ndef added(total, x, t):\n    total[...] = nl.loop_reduce(nl.load(x[t]), op=np.add, loop_indices=[t])\n"
    )
    [finding] = [f for f in rewrite(source).findings if f.applicability == "review"]
    assert finding.message == "a reduction into 'total', which another function declares"
    assert rewrite(source, Options(unsafe=True)).findings == ()
