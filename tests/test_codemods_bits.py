"""Bitwise functions of tiles whose types only a trace tells, in a kernel that says itself that they may be several."""

from __future__ import annotations

import pytest
from examples import sampled
from nki_migrate.runtime.cases import TensorSpec
from nki_migrate.runtime.messages import Failure

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def k(x, y, n):
    assert x.dtype != nl.bool_
    out = nl.ndarray(x.shape, dtype=nl.int32, buffer=nl.shared_hbm)
    a = nl.load(x)
    b = nl.load(y)
    found = {call}
    nl.store(out, value=nl.copy(found, dtype=nl.int32))
    return out
"""
TYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "float32", "bfloat16")
CALLS = (
    "nl.bitwise_and(a, b)",
    "nl.bitwise_xor(a, n)",
    "nl.bitwise_or(a, 3)",
    "nl.invert(a)",
    "nl.left_shift(a, 1)",
    "nl.right_shift(a, b)",
    "a & b",
    "a | 1",
    "~a",
    "a << 2",
    "nl.add(a, b)",
    "nl.bitwise_and(a, b, dtype=nl.int32)",
    "nisa.tensor_tensor(a, b, op=nl.bitwise_and)",
    "nisa.tensor_scalar(a, op0=nl.bitwise_and, operand0=3)",
)


@pytest.mark.parametrize("other", ("uint8", "int32", "uint32", "float32"))
@pytest.mark.parametrize("own", TYPES)
@pytest.mark.parametrize("call", sampled("bits", CALLS))
def test_the_result_is_what_it_was(migrate, call, own, other):
    args = {name: TensorSpec((32, 8), dtype, "integers") for name, dtype in (("x", own), ("y", other))} | {"n": 5}
    migration = migrate(KERNEL.format(call=call), args)
    assert migration.objection is None
    if isinstance(migration.before, Failure):
        return
    assert migration.outcome.findings or migration.trouble == ()
