"""Functions of NKI and numpy under names and in arguments, which are operators of instructions in Beta 2."""

from __future__ import annotations

import pytest
from first_rung import rewrite
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

LARGEST = nl.max


def applied(tile, function=nl.relu, operator=np.multiply):
    return twice(nisa.activation(op=function, data=tile), operator)


def twice(tile, operator):
    return nisa.tensor_scalar(tile, operator, 2.0)


def called(tile, function):
    return function(tile)


@nki.jit
def k(x, flag=True, given=None):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    {body}
    nl.store(out, tile)
    return out
"""


def kernel(*lines: str) -> str:
    return KERNEL.format(body="\n    ".join(lines))


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize(
    "lines",
    [
        ("fn = nl.relu if flag else np.exp", "tile = nisa.activation(fn, tile)"),
        ("op = np.max if flag else np.add", "tile = nisa.tensor_scalar(tile, op, 0.5, op1=op, operand1=0.25)"),
        ("op = LARGEST if flag else nl.add", "tile = nisa.tensor_tensor(tile, tile, op)"),
        ("tile = nisa.activation(op=nl.silu if flag else nl.square, data=tile)",),
        ("if flag:", "    fn = nl.relu", "else:", "    fn = nl.square", "tile = nisa.activation(fn, tile)"),
        ("fn = None", "if flag:", "    fn = nl.relu", "if fn is not None:", "    tile = nisa.activation(fn, tile)"),
        ("tile = applied(tile)",),
        ("tile = applied(tile, np.tanh, operator=np.max if flag else np.add)",),
        ("op = nl.min if flag else nl.max", "tile = twice(tile, op)"),
    ],
)
def test_what_only_instructions_take_is_a_token(migrate, lines, flag):
    migration = migrate(kernel(*lines), {"x": TensorSpec((6, 8), "float32", "normal"), "flag": flag})
    found = [f for f in migration.outcome.findings if f.line > 20]  # 'called' is none of it
    assert (found, migration.objection, migration.trouble) == ([], None, ())


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("fn = nl.relu if flag else nl.gelu", "tile = fn(tile)"), "nl.relu is only an operator of instructions"),
        (("tile = called(tile, nl.exp)",), "nl.exp is only an operator of instructions in Beta 2"),
        (("op = nl.rsqrt if flag else nl.relu", "tile = nisa.tensor_scalar(tile, op, 2.0)"), "nl.rsqrt is only an op"),
        (("op = nl.divide if flag else nl.add", "tile = nisa.tensor_scalar(tile, op, 2.0)"), "nl.divide is not the"),
        (("fn = nl.var if flag else given", "tile = called(tile, fn)"), "nl.var does not exist in Beta 2"),
        (("tile[...] = nl.loop_reduce(tile, op=given, loop_indices=[])",), "the operator given of a reduction is not"),
    ],
)
def test_what_is_called_or_has_no_token_is_left_under_a_finding(lines, message):
    found = rewrite(kernel(*lines)).findings
    assert [f.message for f in found if f.line == 25 and f.message.startswith(message)], found


def test_a_function_that_differs_by_the_branch_and_is_called_is_left_under_a_finding():
    branches = ("if flag:", "    fn = nl.relu", "else:", "    fn = nl.square")
    for use in ("tile = fn(tile)", "tile = nisa.activation(fn, tile)\n    tile = fn(tile)"):
        assert 29 in [f.line for f in rewrite(kernel(*branches, *use.split("\n    "))).findings]
