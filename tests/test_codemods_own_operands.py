"""``a = f(.., a, ..)``: whatever a function becomes, it reads what ``a`` was, also where it is several instructions.

Another name holds the old tile, so that no result may be computed in its place. ``b = nl.where(c, a, b)`` once declared
``b`` and copied that to itself.
"""

from __future__ import annotations

import pytest
from examples import sampled
from first_rung import Options
from nki_migrate.runtime.cases import TensorSpec
from nki_migrate.runtime.spec.versions import VERSIONS

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np


@nki.jit
def k(x):
    out = nl.ndarray((3, 64, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.load(x[0:64, 0:64]{type})
    b = nl.multiply(a, 2)
    c = nl.greater(a, 1)
    {held} = {name}
    {name} = {expression}
    nl.store(out[0, :, 0 : {name}.shape[1]], {name})
    nl.store(out[1], {held})
    nl.store(out[2], a)
    return out
"""
EXPRESSIONS = [
    *("nl.where(c, a, b)", "nl.where(c, b, a)", "nl.where(a, b, 2.0)", "nl.where(c, 1.5, b)", "nl.where(b, a, b)"),
    *("nl.where(nl.less(b, a), nl.add(b, 1.0), b)", "nl.maximum(nl.subtract(a, b), nl.multiply(b, a))"),
    *("nl.softmax(b, axis=1)", "nl.rms_norm(b, a, axis=1, n=64)", "nl.var(b, axis=1)", "nl.mean(b, axis=1)"),
    *("nl.divide(a, b)", "2.0 / b", "b / a", "nl.transpose(b)", "nl.matmul(b, a, transpose_x=True)", "nl.matmul(b, a)"),
    *("nisa.nc_matmul(a, b)", "nisa.nc_transpose(b)", "nl.broadcast_to(b[:, 0:1], shape=(64, 64))", "nl.rsqrt(c)"),
    *("nisa.tensor_tensor_scan(b, a, initial=0.0, op0=np.multiply, op1=np.add)", "nisa.bn_aggr(nisa.bn_stats(b))"),
    "nisa.scalar_tensor_tensor(data=b, op0=np.multiply, operand0=b[:, 1:2], op1=np.add, operand1=a)",
    "nisa.tensor_scalar(b, np.subtract, a[:, 0:1], op1=np.multiply, operand1=b[:, 2:3], reverse1=True)",
]
WHOLE = ["nl.floor(b)", "nl.mod(b, 3)", "nl.divide(b, 2)", "nl.invert(b)", "nl.bitwise_and(b, a)", "nl.where(c, a, b)"]
X = TensorSpec((64, 64), "float32", "integers", low=1, high=9)


CASES = [("", e) for e in EXPRESSIONS] + [(", dtype=nl.int32", e) for e in WHOLE]


@pytest.mark.parametrize("target", [VERSIONS[0].name, VERSIONS[-1].name])
@pytest.mark.parametrize("name", ["a", "b", "c"])
@pytest.mark.parametrize(("type_", "expression"), sampled("own_operands", CASES))
def test_a_name_that_is_read_and_bound_by_one_statement(migrate, type_, expression, name, target):
    source = KERNEL.format(type=type_, held="held", name=name, expression=expression)
    migration = migrate(source, {"x": X}, Options(unsafe=True, target=target))
    if migration.outcome.findings:
        pytest.skip("left with a finding")
    assert migration.objection is None
    assert not any("numbers: different" in line or line.startswith("new") for line in migration.trouble)
