"""Slices under a name, from a function, or in an object: written out where they index, or left with a finding.

A slice of one row has as many elements as that row: nothing but its rank would tell a slice that is taken for a number.
"""

import pytest
from first_rung import Options, rewrite
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
from dataclasses import dataclass

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

{before}

@nki.jit
def k(x):
    out = nl.ndarray((8, 6), dtype=nl.float32, buffer=nl.shared_hbm)
{body}
    return out
"""
COPY = "nl.store(out[{0}, :], nl.load(x[{0}, :]))"
LOOP = "for i in nl.static_range(4):\n    "
WRITTEN = {
    "a name": ("", "for i in nl.static_range(4):\n    s = slice(i * 2, i * 2 + 2)\n    " + COPY.format("s")),
    "another name": ("", "for i in nl.static_range(4):\n    s = nl.ds(i * 2, 2)\n    r = s\n    " + COPY.format("r")),
    "in place": ("", LOOP + COPY.format("slice(i * 2, i * 2 + 2)")),
    "up to": ("", COPY.format("slice(8)")),
    "everything": ("", COPY.format("slice(None)")),
    "from": ("", COPY.format("slice(0, None)")),
    "a global": ("LOW = slice(0, 5)\nHIGH = nl.ds(5, 3)", COPY.format("LOW") + "\n" + COPY.format("HIGH")),
    "a function": ("def rows(i, n=2):\n    return nl.ds(i * n, n)\n", LOOP + COPY.format("rows(i)")),
    "a function of slice": ("def rows(i):\n    return slice(i * 2, i * 2 + 2)\n", LOOP + COPY.format("rows(i)")),
    "a function of a function": (
        "def part(i, n):\n    return nl.ds(i * n, n)\n\n\ndef rows(i):\n    return part(i, 2)\n",
        LOOP + COPY.format("rows(i)"),
    ),
    "an inner function": ("", "n = 2\ndef rows(i):\n    return nl.ds(i * n, n)\n" + LOOP + COPY.format("rows(i)")),
    "one row": ("def row(i):\n    return slice(i, i + 1)\n", "for i in range(8):\n    " + COPY.format("row(i)")),
}


def kernel(before, body):
    return KERNEL.format(before=before, body="\n".join(f"    {line}" for line in body.splitlines()))


@pytest.mark.parametrize("way", WRITTEN)
def test_a_slice_is_written_out_where_it_indexes(migrate, way):
    migration = migrate(kernel(*WRITTEN[way]), {"x": TensorSpec((8, 6), "float32", "normal")})
    assert migration.objection is None and migration.trouble == () and migration.outcome.findings == ()
    assert "slice(" not in migration.outcome.source.partition("@nki.jit")[2]


CLASS = (
    "class Tiles:\n    def __init__(self, {0}):\n        self.part = {1}\n\n    def rows(self):\n        return {2}\n"
)
HALVES = "for i in nl.static_range(2):\n    t = Tiles({0})\n    "
LEFT = {
    "a method": (
        CLASS.format("i", "i", "nl.ds(self.part * 4, 4)"),
        HALVES.format("i") + COPY.format("t.rows()"),
    ),
    "a field": (CLASS.format("i", "nl.ds(i * 4, 4)", "0"), HALVES.format("i") + COPY.format("t.part")),
    "a field of a method": (
        CLASS.format("i", "slice(i * 4, i * 4 + 4)", "self.part"),
        HALVES.format("i") + COPY.format("t.rows()"),
    ),
    "what the object is made with": (
        CLASS.format("part", "part", "0"),
        HALVES.format("nl.ds(i * 4, 4)") + COPY.format("t.part"),
    ),
    "a name that the object is made with": (
        CLASS.format("part", "part", "0"),
        "for i in nl.static_range(2):\n    s = nl.ds(i * 4, 4)\n    t = Tiles(s)\n    " + COPY.format("t.part"),
    ),
    "a data class": (
        "@dataclass\nclass Tiles:\n    part: object\n",
        HALVES.format("nl.ds(i * 4, 4)") + COPY.format("t.part"),
    ),
    "a list": ("", "s = [nl.ds(0, 4), nl.ds(4, 4)]\nfor i in nl.static_range(2):\n    " + COPY.format("s[i]")),
    "a pair": ("", "s = (nl.ds(0, 4), slice(0, 6))\nnl.store(out[s], nl.load(x[s]))"),
    "a branch": (
        "",
        "for i in range(2):\n    if i == 0:\n        s = nl.ds(0, 4)\n    else:\n        s = nl.ds(4, 4)\n    "
        + COPY.format("s"),
    ),
    "a choice": (
        "",
        "for i in nl.static_range(2):\n    s = nl.ds(0, 4) if i == 0 else nl.ds(4, 4)\n    " + COPY.format("s"),
    ),
    "a global that changes": (
        "LOW = slice(0, 5)\nLOW = slice(5, 8)",
        COPY.format("LOW"),
    ),
    "an end that changes": ("", "n = 2\ns = slice(0, n)\nn = 8\n" + COPY.format("s")),
    "a start that changes": (
        "",
        "n = 0\ns = nl.ds(n, 4)\nn = 4\n" + COPY.format("s") + "\n" + COPY.format("nl.ds(n, 4)"),
    ),
    "a start that a loop changes": (
        "",
        "n = 0\nfor i in nl.static_range(2):\n    s = slice(n, n + 4)\n    n = n + 4\n    " + COPY.format("s"),
    ),
    "a slice of the pass before": (
        "",
        "s = slice(0, 2)\nfor i in nl.static_range(4):\n    "
        + COPY.format("s")
        + "\n    s = slice(i * 2, i * 2 + 2)\n"
        + COPY.format("s"),
    ),
    "a function that reads what changes": (
        "",
        "n = 4\ndef rows(i):\n    return nl.ds(i * 4, n)\n"
        + COPY.format("rows(0)")
        + "\nn = 2\n"
        + COPY.format("rows(1)"),
    ),
    "a step": ("", COPY.format("slice(0, 8, 2)")),
    "a function called slice": ("def slice(a, b):\n    return a\n", COPY.format("slice(3, 4)")),
}


@pytest.mark.parametrize("way", LEFT)
def test_an_index_that_may_be_a_slice_is_never_taken_for_a_number(migrate, way):
    """It is rewritten and equal, or left with a finding."""
    source = kernel(*LEFT[way])
    outcome = rewrite(source, Options(unsafe=True))
    if not outcome.findings:
        migration = migrate(source, {"x": TensorSpec((8, 6), "float32", "normal")})
        assert migration.objection is None and migration.trouble == ()
