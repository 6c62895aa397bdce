"""Names of tensors: Beta 2 refuses one that is taken, so that those which something repeats go."""

from __future__ import annotations

import pytest
from nki_migrate.runtime.cases import TensorSpec

SQUARED = """\
def squared(tile):
    found = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.{space}, name="squared")
    {filled}
    return found


"""
KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


{function}@nki.jit
def k(x):
    out = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.shared_hbm, name="out")
    total = nl.zeros((128, 64), dtype=nl.float32, buffer=nl.sbuf, name="total")
{body}
    nl.store(out, value=total)
    return out
"""
IN_SBUF = "found[...] = nl.multiply(tile, tile)"
IN_HBM = "nl.store(found, value=nl.multiply(tile, tile))"
ONE = "a = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.{space}, name='part')\n{fill}\ntotal += nl.exp({read})"
BODIES = {
    "one after the other": "{one}\n{one}",
    "in a loop": "for i in nl.static_range(2):\n    {inner}",
    "a function that is called twice": "t = nl.load(x)\ntotal += {squared}\ntotal += {squared}",
    "a function that is called in a loop": "t = nl.load(x)\nfor i in nl.static_range(2):\n    total += {squared}",
}


def kernel(body: str, space: str) -> str:
    fill, read = ("a[...] = nl.load(x)", "a") if space == "sbuf" else ("nl.store(a, value=nl.load(x))", "nl.load(a)")
    one = ONE.format(space=space, fill=fill, read=read)
    squared = "squared(t)" if space == "sbuf" else "nl.load(squared(t))"
    text = body.format(one=one, inner=one.replace("\n", "\n    "), squared=squared)
    filled = IN_SBUF if space == "sbuf" else IN_HBM
    function = SQUARED.format(space=space, filled=filled) if "squared" in body else ""
    return KERNEL.format(function=function, body="\n".join(f"    {line}" for line in text.splitlines()))


@pytest.mark.parametrize("space", ["sbuf", "hbm"])
@pytest.mark.parametrize("body", BODIES)
def test_names_that_something_repeats_go(migrate, body, space):
    migration = migrate(kernel(BODIES[body], space), {"x": TensorSpec((128, 64), "float32")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


def test_a_name_of_one_tensor_stays(migrate):
    body = "t = nl.load(x)\ntotal += {squared}"
    migration = migrate(kernel(body, "sbuf"), {"x": TensorSpec((128, 64), "float32")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert [f'name="{name}"' in migration.outcome.source for name in ("out", "total", "squared")] == [True] * 3


def test_the_first_of_two_keeps_its_name(migrate):
    outcome = migrate(kernel(BODIES["one after the other"], "sbuf"), {"x": TensorSpec((128, 64), "float32")}).outcome
    assert outcome.source.count("name='part'") == 1
