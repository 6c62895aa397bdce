"""A name that a loop carries is, at the loop's head, what it was before the loop or what an iteration left.

Values of before are followed by others of an iteration, in each kind of loop: both kernels give the same numbers, or a
finding says why one was left, or Beta 2 refuses operands of different sizes or types.
"""

import random
import textwrap
from itertools import product

import pytest
from examples import examples
from first_rung import Options, rewrite
from nki_migrate.runtime.cases import TensorSpec
from nki_migrate.runtime.compare import Failure

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def k(x):
    assert x.shape == (8, 8)
    out = nl.ndarray((4, 8, 8), dtype=nl.float32, buffer=nl.shared_hbm)
    u = nl.load(x)
    for j in nl.static_range(4):
        nl.store(out[j], u)
    t = {first}
{loop}
    return out
"""
VALUES = {
    "a tile": "nl.multiply(u, 0.5)",
    "a product": "nl.matmul(u, u)",
    "another type": "nl.copy(u, dtype=nl.bfloat16)",
    "a column": "nl.max(u, axis=1, keepdims=True)",
    "half": "nl.exp(u[:, 0:4])",
    "a view": "u[:, 0:8]",
    "a number": "2.0",
}
USES = {
    "an operand": "nl.store(out[i], nl.add(u, t))",
    "an operand of a product": "nl.store(out[i], nl.matmul(u, t))",
    "stored": "nl.store(out[i, :, 0:4], t[:, 0:4])",
    "changed": "t[...] = nl.multiply(t, 0.5)\nnl.store(out[i, 0:8, 0:1], t[:, 0:1])",
}
LOOPS = {
    "for": "for i in nl.static_range(3):\n    {use}\n    t = {then}",
    "while": "i = 0\nwhile i < 3:\n    {use}\n    t = {then}\n    i = i + 1",
    "continue": (
        "for i in nl.static_range(3):\n    {use}\n    if i == 0:\n        t = {then}\n        continue\n    t = {first}"
    ),
    "break": "for i in nl.static_range(2):\n    if i == 1:\n        t = {then}\n        break\n    t = {first}\n{use}",
    "a loop in a loop": (
        "for i in nl.static_range(2):\n    for j in nl.static_range(2):\n        {use}\n        t = {then}\n"
        "    t = {first}"
    ),
}
KINDS = sorted((first, then) for first, then in product(VALUES, VALUES) if first != then)


def kernel(first, then, use, loop):
    outer = "    " if loop == "break" else "        " if loop == "a loop in a loop" else "    "
    told = USES[use].replace("\n", "\n" + ("" if loop == "break" else outer))
    body = LOOPS[loop].format(first=VALUES[first], then=VALUES[then], use=told)
    return KERNEL.format(first=VALUES[first], loop=textwrap.indent(body, "    "))


@pytest.mark.random
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("use", USES)
def test_a_loop_is_rewritten_for_what_each_of_its_iterations_finds(migrate, use, loop):
    equal, wrong = 0, []
    kinds = random.Random(use + loop).sample(KINDS, min(examples(7), len(KINDS)))
    for first, then in kinds:
        source = kernel(first, then, use, loop)
        if rewrite(source, Options(unsafe=True)).findings:
            continue
        migration = migrate(source, {"x": TensorSpec((8, 8), "float32", "normal")}, Options(unsafe=True))
        assert migration.objection is None
        wrong += [
            f"{first}, then {then}: {said}" for said in migration.trouble if said.startswith("numbers: different")
        ]
        stopped = isinstance(migration.after, Failure) and not isinstance(migration.before, Failure)
        refused = "a column" in (first, then) or (use == "an operand of a product" and "another type" in (first, then))
        assert not stopped or refused, f"{first}, then {then}: {migration.after}"
        equal += not stopped
    assert not wrong
    assert equal > len(kinds) / 4


def test_what_no_iteration_changes_is_known_in_the_loop():
    """An iteration leaves a tile of the size and the type that it found: no size and no type is asked for."""
    written = rewrite(kernel("a tile", "a tile", "an operand", "for"), Options(unsafe=True)).source
    assert "t.shape" not in written and "t.dtype" not in written and "promoted_dtype" not in written
