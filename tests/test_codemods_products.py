"""What matmuls leave in PSUM, and under which name; what instructions leave in the registers."""

from __future__ import annotations

import pytest
from first_rung import rewrite
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def k(x, y, turned=False, n=2):
    out = nl.ndarray((n, 64, 128), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.load(x[0:128, 0:64])
    b = nl.load(y[0:128, 0:128])
{body}
    return out
"""
WIDE = {"x": TensorSpec((128, 64), "float32", "normal"), "y": TensorSpec((128, 128), "float32", "normal")}
NARROW = {"x": TensorSpec((128, 64), "bfloat16", "normal"), "y": TensorSpec((128, 128), "bfloat16", "normal")}
PASS = "    p = nisa.nc_matmul(a, b)\n    nl.store(out[j], value=nl.copy(p))"
TURNED = "p = nisa.nc_matmul(a, b, is_transpose={turned})\nnl.store(out[0], value=p)\nnl.store(out[1], value=p)"


def kernel(body: str) -> str:
    return KERNEL.format(body="\n".join(f"    {line}" for line in body.split("\n")))


@pytest.mark.parametrize("turned", ["True", "False", "turned", "not turned"])
@pytest.mark.parametrize("args", [WIDE, NARROW], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("given", [True, False])
def test_a_transpose_leaves_the_type_of_its_operand(migrate, turned, args, given):
    migration = migrate(kernel(TURNED.format(turned=turned)), {**args, "turned": given})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


def test_the_first_generation_turns_into_float32():
    source = " ".join(rewrite(kernel(TURNED.format(turned="turned"))).source.split())
    assert "nl.float32 if nisa.get_nc_version() == nisa.nc_version.gen2 or not turned else x.dtype" in source
    assert "get_nc_version" not in rewrite(kernel(TURNED.format(turned="False"))).source


@pytest.mark.parametrize(
    "body",
    [
        f"for j in nl.affine_range(n):\n{PASS}\nfor j in nl.affine_range(n):\n{PASS}",
        f"for j in nl.sequential_range(n):\n{PASS}\n"
        f"for j in nl.affine_range(n):\n{PASS}\n    p += nisa.nc_matmul(a, b)",
        "p = nisa.nc_matmul(a, b)\np = nisa.nc_matmul(a, b)\np += nisa.nc_matmul(a, b)\n"
        "for j in nl.affine_range(n):\n    nl.store(out[j], value=nl.copy(p))",
    ],
)
def test_a_name_that_is_bound_again_is_another_tile(migrate, body):
    migration = migrate(kernel(body), WIDE)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


@pytest.mark.parametrize(
    "body",
    [
        # another name leads to the first tile
        "p = nisa.nc_matmul(a, b)\nq = p\np = nisa.nc_matmul(a, b)\nq[...] = nisa.nc_matmul(a, b)",
        # the second tile is one of a branch
        "p = nisa.nc_matmul(a, b)\nif n > 1:\n    p = nisa.nc_matmul(a, b)\nelse:\n    p[...] = nisa.nc_matmul(a, b)",
        # the loop may not run
        "p = nisa.nc_matmul(a, b)\np[...] = nl.add(p, 1.0)\nfor j in range(n):\n    p = nisa.nc_matmul(a, b)\n"
        "p += nisa.nc_matmul(a, b)",
    ],
)
def test_what_may_be_the_first_tile_is_not_taken_for_the_second(body):
    assert "NKI023" in {finding.code for finding in rewrite(kernel(body)).findings}


REGISTERS = """\
total = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
nisa.activation(op=nl.exp, data=b, reduce_op=nl.add, reduce_cmd=nisa.reduce_cmd.reset_reduce)
nisa.activation(op=nl.exp, data=a, reduce_op=nl.add, reduce_cmd=nisa.reduce_cmd.reduce, reduce_res=total)
for j in nl.affine_range(n):
    nl.store(out[j, :, 0:1], value=total[0:64])"""


def test_what_is_only_reduced_into_the_registers_is_computed(migrate):
    migration = migrate(kernel(REGISTERS), WIDE)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
