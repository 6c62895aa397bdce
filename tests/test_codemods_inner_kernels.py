"""Kernels in the bodies of classes and functions."""

from __future__ import annotations

import pytest
from first_rung import Options, rewrite
from nki_migrate.guard import complete, objection
from nki_migrate.runtime.cases import TensorSpec
from unmarked import unmarked

HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

WIDE = 64
"""
BODY = """\
        out = nl.ndarray((128, WIDE), dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.load(x)
        nl.store(out, nl.add(tile, tile))  # twice
        return out
"""
IN_CLASS = """
class Layer:
    weight = 2.0
{decorators}
    def doubled({parameters}):
{body}
    def forward(self, x):
        return {launch}

{more}"""


def in_class(decorators="    @nki.jit", parameters="x", body=BODY, launch="self.doubled(x)", more=""):
    return HEAD + IN_CLASS.format(decorators=decorators, parameters=parameters, body=body, launch=launch, more=more)


def guarded(source):
    """What the rewrite left, and why the guards would not write it."""
    outcome = complete(source, rewrite(source), Options())
    return outcome, objection(source, outcome, Options(), "old.py", rewrite)


@pytest.mark.parametrize(
    "decorators",
    ["    @nki.jit", "    @staticmethod\n    @nki.jit", "    # what is launched\n    @nki.jit(mode='auto')  # it"],
)
@pytest.mark.parametrize("launch", ["Layer.doubled", "Layer().doubled"])
def test_a_kernel_in_a_class_is_a_static_method(migrate, decorators, launch):
    source = in_class(decorators, more=f"k = {launch}\n")
    migration = migrate(source, {"x": TensorSpec((128, 64), "float32", "normal")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert migration.outcome.source.count("@staticmethod") == 1
    assert "neuronxcc" not in migration.outcome.source


ASKING = BODY.replace("nl.load(x)", "nl.load(x[nl.program_id(0)])")
THROUGH = BODY.replace("tile = nl.load(x)", "tile = part(x)")
PART = "def part(x):\n    return nl.load(x[nl.program_id(0)])\n"
CALLING = "@nki.jit\ndef k(x):\n    return Layer.doubled(x)\n"


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (in_class(parameters="self, x"), "gets self"),
        (in_class("    @property\n    @nki.jit"), "has other decorators than nki.jit"),
        (in_class("    @nki.jit(mode='trace')"), "has other decorators than nki.jit"),
        (in_class(more="", body=BODY + "\n    table = {'doubled': doubled}\n"), "the body of the class uses it"),
        (in_class(body=ASKING), "asks for its place in the launch grid"),
        (in_class("    @staticmethod\n    @nki.jit", body=THROUGH, more=PART), "asks for its place in the launch grid"),
        (in_class(more=CALLING), "another kernel calls it"),
    ],
)
def test_what_cannot_be_a_static_kernel_is_left_under_one_finding(source, why):
    outcome, refused = guarded(source)
    assert f"'doubled' is a kernel in 'Layer', and {why}" in [f.message for f in outcome.findings]
    assert refused is None
    kernel = source[source.index("    def doubled") : source.index("return out")]
    assert kernel in unmarked(outcome.source)
    start = source[: source.index("    def doubled")].count("\n") + 1
    inside = range(start + 1, start + kernel.count("\n") + 1)
    assert [f for f in outcome.findings if f.line in inside] == []


@pytest.mark.parametrize("launch", ["self.doubled[4](x)", "Layer.doubled[2, 2](x)", "launched(Layer.doubled[4])"])
def test_a_grid_of_a_kernel_in_a_class_is_a_finding(launch):
    outcome, refused = guarded(in_class(launch=launch))
    assert [f.code for f in outcome.findings] == ["NKI016"] and refused is None


IN_FUNCTION = """
def launched({parameters}):
    {before}
    @nki.jit
    def doubled(x):
{body}
    return doubled
"""


def in_function(parameters="", before="pass", body=BODY, more=""):
    return HEAD + IN_FUNCTION.format(parameters=parameters, before=before, body=body) + more


def test_a_kernel_in_a_function_that_uses_nothing_of_it_is_rewritten(migrate):
    migration = migrate(in_function(more="\nk = launched()\n"), {"x": TensorSpec((128, 64), "float32", "normal")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "        nisa.dma_copy(" in migration.outcome.source


@pytest.mark.parametrize(
    ("parameters", "before", "used"),
    [
        ("WIDE", "pass", "WIDE"),
        ("", "WIDE = 32", "WIDE"),
        ("*WIDE", "pass", "WIDE"),
        ("", "for WIDE in (1, 2):\n        pass", "WIDE"),
    ],
)
def test_a_kernel_that_uses_names_of_the_function_around_it_is_left_under_one_finding(parameters, before, used):
    source = in_function(parameters, before)
    outcome, refused = guarded(source)
    message = f"'doubled' is a kernel in 'launched', and uses names of it, which Beta 2 does not find: {used}"
    assert [f.message for f in outcome.findings] == [message]
    assert refused is None and BODY in outcome.source


def test_a_function_of_the_name_of_a_kernel_in_a_class_is_another():
    other = "def doubled(t):\n    nl.store(t, nl.load(t))\n\n\n@nki.jit\ndef k(x):\n    doubled(x)\n"
    outcome, refused = guarded(in_class(more=other))
    assert refused is None and [f.code for f in outcome.findings] == ["NKI036"]
    assert "    @staticmethod\n    @nki.jit\n    def doubled(x):" in outcome.source


BUILDER = """
def build(size):
{before}
{decorator}
    def kernel(x):
        out = nl.ndarray((128, WIDE), dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.load(x[{rows}]))
        return out

    kernel(1)
"""


def test_kernel_code_that_launches_a_kernel_in_it_has_a_finding():
    source = HEAD + BUILDER.format(before="    t = nl.par_dim(size)", decorator="    @nki.jit", rows="0:128")
    outcome, refused = guarded(source)
    assert refused is None
    assert "'kernel' is a kernel in a function that is kernel code, too" in [f.message for f in outcome.findings]
