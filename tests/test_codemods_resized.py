"""Index vectors that have one size in one branch or iteration, and another one in the next."""

from __future__ import annotations

import pytest
from first_rung import rewrite
from nki_migrate.runtime.cases import TensorSpec

HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def k(x, short):
    p, f = x.shape
    out = nl.ndarray((p, f), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    i_p = nl.arange(p)[:, None]
    i_f = nl.arange(f)[None, :]
"""
TAIL = """
    nl.store(out[i_p, i_f], value=tile[i_p, i_f])
    return out
"""
SHORTER = "if short:\n    i_f = nl.arange(f - 3)[None, :]\n"
DOUBLED = "tile[i_p, i_f] = nl.multiply(tile[i_p, i_f], 2.0)\n"


def source(body):
    return HEAD + "".join(f"    {line}\n" for line in body.splitlines()) + TAIL


@pytest.mark.parametrize("short", [True, False])
@pytest.mark.parametrize(
    "body",
    [
        SHORTER + DOUBLED,
        SHORTER.replace("f - 3", "n").replace("    i_f", "    n = f - 3\n    i_f") + "n = 77\n" + DOUBLED,
        SHORTER + "else:\n    i_f = nl.arange(1)[None, :]\n" + DOUBLED,
        SHORTER + "tile[i_p, i_f + 1] = nl.copy(tile[i_p, i_f + 3], mask=(i_f < f - 5))\n",
        SHORTER + "m = i_f < f - 4\ntile[i_p, i_f] = nl.multiply(tile[i_p, i_f], 2.0, mask=m)\n",
        "t = nl.load(x[i_p, i_f])\n" + SHORTER + "tile[i_p, i_f] = nl.copy(t[i_p, i_f])\n",
        "t = nl.load(x[i_p, i_f])\n" + SHORTER + "u = nl.copy(t)\n" + "tile[i_p, i_f] = nl.add(u[i_p, i_f], 1.0)\n",
        "for r in nl.static_range(3):\n    " + DOUBLED + "    i_f = nl.arange(f - 2 - r)[None, :]\n",
        "for r in nl.sequential_range(3):\n    " + DOUBLED + "    i_f = nl.arange(f - 2)[None, :]\n    " + DOUBLED,
        "for r in nl.sequential_range(3):\n    "
        + DOUBLED
        + "    if short:\n        i_f = nl.arange(f - 2)[None, :]\n    "
        + DOUBLED,
        "n = 3\nwhile n > 0:\n    " + DOUBLED + "    i_f = nl.arange(f - n)[None, :]\n    n = n - 1\n" + DOUBLED,
        "for r in nl.static_range(2):\n    for s in nl.static_range(2):\n        "
        + DOUBLED
        + "        i_f = nl.arange(f - r - s)[None, :]\n    i_f = nl.arange(f - 1)[None, :]\n",
    ],
)
def test_the_size_is_that_of_the_branch_or_iteration_that_ran(migrate, body, short):
    migration = migrate(source(body), {"x": TensorSpec((16, 12), "float32", "normal"), "short": short})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "i_f_size = " in migration.outcome.source


@pytest.mark.parametrize(
    "body",
    [
        "m = i_f < f - 4\n" + SHORTER + "tile[i_p, i_f] = nl.multiply(tile[i_p, i_f], 2.0, mask=m)\n",
        "j = i_f + 1\n" + SHORTER + "tile[i_p, i_f] = nl.copy(tile[i_p, j])\n",
        SHORTER.replace("[None, :]", "[:, None]") + DOUBLED,
        SHORTER.replace("f - 3", "1, f - 3") + DOUBLED,
        SHORTER.replace("[None, :]", "[None, :] + 1") + DOUBLED,
        SHORTER.replace("i_f =", "i_g = i_f =") + DOUBLED,
        SHORTER + "sizes = [i_f for i_f in (1, 2)]\n" + DOUBLED,
        SHORTER + "def inner():\n    " + DOUBLED + "inner()\ninner()\n",
    ],
)
def test_what_else_differs_is_left_and_said(body):
    outcome = rewrite(source(body))
    assert outcome.findings != ()


@pytest.mark.parametrize("body", [DOUBLED, "i_f = nl.arange(f - 1)[None, :]\n" + DOUBLED])
def test_a_vector_that_is_always_known_has_no_name_for_its_size(body):
    assert "i_f_size" not in rewrite(source(body)).source
