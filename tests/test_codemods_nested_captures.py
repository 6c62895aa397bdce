"""A nested function reads the names around it when it is called: each call passes the tile of that moment."""

from __future__ import annotations

import pytest
from first_rung import rewrite
from nki_migrate.codemods import Options
from nki_migrate.runtime.cases import TensorSpec

HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def k(x, flag=False):
    out = nl.ndarray((4, 128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    t = nl.load(x[0:128, 0:64])
    w = 1.0
"""
SCALED = """
    def scaled(i):
        return nl.multiply(t, w + i)

    nl.store(out[0], value=scaled(0))
"""
BODIES = {
    "another type, and a number that changes": (
        SCALED,
        "    w = 3.0\n    t = nl.add(t, 1.0, dtype=nl.float32)\n    nl.store(out[1], value=scaled(1))\n",
    ),
    "the same type": (SCALED, "    t = nl.load(x[128:256, 0:64])\n    nl.store(out[1], value=scaled(1))\n"),
    "what the function itself made": (
        SCALED,
        "    t = scaled(1)\n    nl.store(out[1], value=scaled(2))\n    t = scaled(3)\n    nl.store(out[2], value=t)\n",
    ),
    "calls in a loop": (
        SCALED,
        "    t = nl.add(t, 1.0)\n    for i in nl.static_range(2):\n        nl.store(out[1 + i], value=scaled(i))\n",
    ),
    "in a branch": (
        SCALED,
        "    if flag:\n        t = nl.add(t, 1.0, dtype=nl.float32)\n    nl.store(out[1], value=scaled(1))\n",
    ),
    "a function in the function": (
        """
    def scaled(i):
        def moved(by):
            return nl.add(t, by)

        return nl.multiply(moved(2.0), w + i)

    nl.store(out[0], value=scaled(0))
""",
        "    t = nl.load(x[128:256, 0:64])\n    nl.store(out[1], value=scaled(1))\n",
    ),
}
REST = "    nl.store(out[3], value=t)\n    return out\n"
KINDS = ["float32", "bfloat16"]


@pytest.mark.parametrize("target", ["0.2", "0.6"])
@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("name", BODIES)
def test_each_call_passes_the_tile_that_the_name_has_then(name, dtype, target, migrate):
    source = HEAD + "".join(BODIES[name]) + REST
    for flag in [False, True] if "flag" in BODIES[name][1] else [False]:
        args = {"x": TensorSpec((256, 64), dtype, "normal"), "flag": flag}
        result = migrate(source, args, Options(target=target))
        assert (result.outcome.findings, result.objection, result.trouble) == ((), None, ())


def test_a_tile_of_another_shape_is_a_finding_where_it_is_called():
    source = HEAD + SCALED + "    t = nl.copy(t[:, 0:1])\n    nl.store(out[1], value=scaled(1))\n    return out\n"
    (finding,) = rewrite(source).findings
    assert finding.message == "'scaled' uses 't', which changes between its calls"
    assert source.split("\n")[finding.line - 1].strip() == "nl.store(out[1], value=scaled(1))"


def test_a_tile_that_the_function_writes_to_keeps_its_declaration(migrate):
    body = """
    def fill(i):
        t[0:128, 0:32] = nl.add(t[0:128, 32:64], w + i)
        nl.store(out[i], value=t)

    fill(0)
    nl.store(out[2], value=t)
    fill(1)
"""
    args = {"x": TensorSpec((128, 64), "float32", "normal")}
    result = migrate(HEAD + body + REST, args)
    assert (result.outcome.findings, result.objection, result.trouble) == ((), None, ())
