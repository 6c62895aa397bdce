"""Nested functions that overwrite blocks of a PSUM tensor: which block a call writes, its arguments say."""

from __future__ import annotations

import pytest
from first_rung import rewrite
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def k(x):
    n = x.shape[1] // 64
    out = nl.ndarray((n, 64, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x)
    product = nl.ndarray((n, 2, nl.par_dim(64), 32), dtype=nl.float32, buffer=nl.psum)

    def multiply(i):
        for half in nl.affine_range(2):
            product[i, half] = nisa.nc_matmul(tile[:, nl.ds(i * 64, 64)], tile[:, nl.ds(half * 32, 32)])
            nl.store(out[i, :, nl.ds(half * 32, 32)], value=nl.copy(product[i, half]))

    def last():
        multiply(n - 1)

{body}
    return out
"""
ARGS = {"x": TensorSpec((128, 256), "float32")}


def kernel(body: str) -> str:
    return KERNEL.format(body="\n".join(f"    {line}" for line in body.split("\n")))


@pytest.mark.parametrize(
    "body",
    [
        "for i in nl.affine_range(n):\n    multiply(i)",
        "multiply(0)\nfor i in nl.sequential_range(n - 2):\n    multiply(i + 1)\nmultiply(n - 1)",
        "for i in nl.affine_range(1, n):\n    multiply(i)\nmultiply(0)",
        "for i in nl.affine_range(n):\n    multiply(n - 1 - i)",
        "multiply(3)\nmultiply(2)\nfor i in nl.affine_range(2):\n    multiply(i)",
        "multiply(0)\nmultiply(1)\nmultiply(2)\nlast()",
    ],
)
def test_calls_that_write_blocks_of_their_own_are_rewritten(migrate, body):
    migration = migrate(kernel(body), ARGS)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


@pytest.mark.parametrize(
    "body",
    [
        "multiply(0)\nmultiply(0)",
        "for i in nl.affine_range(n):\n    multiply(i)\nmultiply(n - 1)",
        "for i in nl.affine_range(n - 1):\n    multiply(i)\n    multiply(i + 1)",
        "for i in nl.affine_range(n):\n    multiply(i // 2)",
        "for i in nl.affine_range(n):\n    multiply(i % 2)",
        "for i in nl.affine_range(n):\n    multiply(0)",
        "for i in nl.affine_range(n):\n    for j in nl.affine_range(2):\n        multiply(i)",
        "at = 0\nmultiply(at)\nat = 1\nmultiply(at - 1)",
        "multiply(n - 1)\nlast()",
        "for i in nl.affine_range(0, n - 2, 2):\n    multiply(i)\n    multiply(i + 2)",
        "for i in nl.affine_range(2):\n    multiply(i)\nfor i in nl.affine_range(2):\n    multiply(i + 1)",
    ],
)
def test_a_block_that_two_calls_may_write_is_a_finding(body):
    assert [finding.code for finding in rewrite(kernel(body)).findings] == ["NKI023"]


def test_a_name_that_each_iteration_binds_tells_no_blocks_apart():
    body = "for i in nl.affine_range(n - 1):\n    j = i % 2\n    multiply(j)\n    multiply(j + 1)"
    assert [finding.code for finding in rewrite(kernel(body)).findings] == ["NKI023", "NKI023"]


def test_blocks_that_only_a_trace_tells_apart_are_asserted_to_differ(migrate):
    body = "multiply(0)\nmultiply(n - 1)\nfor i in nl.sequential_range(n - 2):\n    multiply(i + 1)"
    migration = migrate(kernel(body), ARGS)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "assert 0 != n - 1" in migration.outcome.source


TRANSPOSED_PRODUCT = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def k(a, b):
    out = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    product = nl.ndarray((64, 128), dtype=nl.float32, buffer=nl.psum)
    product[...] = nisa.nc_matmul(nl.load(a[0:128, 0:64]), nl.load(b[0:128, 0:128]))
    turned = nl.transpose(product)
    nl.store(out, turned)
    return out
"""


def test_a_product_is_copied_to_sbuf_before_it_is_transposed(migrate):
    """The Tensor Engine reads SBUF only: the rewrite had transposed what lies in PSUM."""
    args = {"a": TensorSpec((128, 64), "float32"), "b": TensorSpec((128, 128), "float32")}
    migration = migrate(TRANSPOSED_PRODUCT, args)
    assert migration.objection is None
    assert not migration.outcome.findings
    assert migration.trouble == ()


OVERWRITTEN = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def k(x):
    out = nl.ndarray((4, 64, 64), dtype=nl.float32, buffer=nl.shared_hbm)
{body}
        nl.store(out[t], value=nl.copy(product))
    return out
"""


@pytest.mark.parametrize("around", ["for t in nl.static_range(1):", "for once in nl.static_range(1):", "if True:"])
def test_a_loop_that_declares_a_tile_is_not_the_loop_that_overwrites_it(around: str, migrate) -> None:
    """A loop had counted as one that declares the tile anew: the products of all its passes were added up."""
    declare = [around, "    product = nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.psum)"]
    use = [
        "for t in nl.affine_range(4):",
        "    product[...] = nisa.nc_matmul(tile[:, nl.ds(t * 64, 64)], tile[:, 0:64])",
    ]
    source = OVERWRITTEN.format(body="\n".join(f"    {line}" for line in ["tile = nl.load(x)", *declare, *use]))
    migration = migrate(source, ARGS)
    codes = {finding.code for finding in migration.outcome.findings}
    assert codes or (migration.objection, migration.trouble) == (None, ())
