"""A condition on the variable of a traced loop that binds a name for later: Beta 1 left it undefined, which is said."""

from __future__ import annotations

import pytest
from first_rung import rewrite

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.language as nl


@nki.jit
def k(x):
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    factor = 1.0
    for t in {loop}(tiles):
        is_first = t == 0
        tile = nl.load(x[t])
        {body}
    return out
"""
STORED = "nl.store(out[t], value=nl.multiply(tile, factor, dtype=nl.float32))"
UNDEFINED = {
    "both branches": f"if t == 0:\n    factor = 2.0\nelse:\n    factor = 3.0\n{STORED}",
    "one branch": f"if t == 0:\n    factor = 2.0\n{STORED}",
    "what it advances": f"if t > 1:\n    factor += 2.0\n{STORED}",
    "a name of the condition": f"if is_first:\n    factor = 2.0\n{STORED}",
    "a sum": f"end = t + 1\nif end == tiles and tiles > 1:\n    factor = 2.0\n{STORED}",
}
DEFINED = {
    "used in the branch": f"if t == 0:\n    factor = 2.0\n    {STORED}",
    "bound again behind it": f"if t == 0:\n    factor = 2.0\n    {STORED}\nfactor = 4.0\n{STORED}",
    "a condition on a size": f"if rows == 32:\n    factor = 2.0\n{STORED}",
    "a condition on the type of a tile": f"if tile.dtype == nl.float32:\n    factor = 2.0\n{STORED}",
    "no name": f"if t == 0:\n    {STORED}",
}


def notes(body, loop="nl.affine_range"):
    indented = body.replace("\n", "\n        ")
    outcome = rewrite(KERNEL.replace("{body}", indented).replace("{loop}", loop))
    return [(a.line, a.text) for a in outcome.asserted if "traced both branches" in a.why]


@pytest.mark.parametrize("name", UNDEFINED)
def test_what_the_branches_leave_behind_is_said(name):
    ((line, text),) = notes(UNDEFINED[name])
    assert text.startswith("'factor' is what the branch binds that '") and line > 12


@pytest.mark.parametrize("name", DEFINED)
def test_and_not_where_nothing_reads_it(name):
    assert notes(DEFINED[name]) == []


@pytest.mark.parametrize("name", UNDEFINED)
def test_and_not_in_a_loop_of_python(name):
    assert notes(UNDEFINED[name], "nl.static_range") == []
