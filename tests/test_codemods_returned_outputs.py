"""Kernels of the first style return what they wrote to parameters, and the launches that the files show take it."""

import sys
from types import ModuleType

import numpy as np
import pytest
from first_rung import Options, rewrite, rewrite_together
from nki_migrate.guard import objection
from nki_migrate.runtime import shims
from nki_migrate.runtime.cases import TensorSpec

IMPORTS = "import neuronxcc.nki as nki\nimport neuronxcc.nki.isa as nisa\nimport neuronxcc.nki.language as nl\n"
HEAD = (
    IMPORTS + "\n\ndef put(dst, tile):\n    nl.store(dst, tile)\n\n\n"
    "def rows(dst, tile, first):\n    put(dst[first : first + 8, 0:16], tile)\n\n\n"
)
WRITES = {
    "whole": "nl.store(out, nl.exp(tile))",
    "parts": "for i in nl.affine_range(4):\n        s = nl.ds(8 * i, 8)\n        nl.store(out[s, :], nl.load(x[s, :]))",
    "a helper": "for i in nl.static_range(4):\n        rows(out, nl.load(x[8 * i : 8 * i + 8, 0:16]), 8 * i)",
    "by keyword": "nl.store(value=nl.exp(tile), dst=out)",
    "vectors": "i, j = nl.arange(32)[:, None], nl.arange(16)[None, :]\n    nl.store(out[i, j], tile[i, j])",
    "a branch": "if x.shape[0] > 16:\n        nl.store(out, tile)\n    else:\n        nl.store(out, nl.exp(tile))",
    "its own shape": "p, f = out.shape\n    nl.store(out[0:p, 0:f], nl.copy(tile, dtype=out.dtype))",
}


def kernel(writes: str, decorator: str = "nki.jit(kernel_return=False)", parameters: str = "x, out") -> str:
    return f"{HEAD}@{decorator}\ndef k({parameters}):\n    tile = nl.load(x[0:32, 0:16])\n    {writes}\n"


@pytest.mark.parametrize(
    "decorator",
    [
        "nki.jit(kernel_return=False)",
        "nki.trace",
        "nki.compiler.skip_middle_end_transformations\n@nki.jit(debug_kernel=True, kernel_return=False)",
    ],
)
@pytest.mark.parametrize("writes", WRITES)
def test_what_is_written_is_returned_with_unsafe_alone(migrate, writes, decorator):
    source = kernel(WRITES[writes], decorator)
    safe = rewrite(source)
    assert {(f.code, f.applicability) for f in safe.findings if f.code == "NKI036"} == {("NKI036", "review")}
    args = {
        "x": TensorSpec((32, 16), "float32", "normal"),
        "out": TensorSpec((32, 16), "float32", "zeros", output=True),
    }
    migration = migrate(source, args, Options(unsafe=True))
    assert not migration.outcome.findings and migration.objection is None and migration.trouble == ()
    assert "    result = nl.ndarray(out.shape, dtype=out.dtype, buffer=nl.shared_hbm)\n" in migration.outcome.source
    assert migration.outcome.source.endswith("    return result\n")
    assert any("writes all of 'out'" in each.text for each in migration.outcome.asserted)
    assert rewrite(migration.outcome.source, Options(unsafe=True)).source == migration.outcome.source


def test_several_outputs_are_returned_in_the_order_of_the_parameters(migrate):
    source = kernel("nl.store(b, nl.exp(tile))\n    nl.store(a, tile)", parameters="a, x, b")
    spec = TensorSpec((32, 16), "float32", "zeros", output=True)
    args = {"a": spec, "x": TensorSpec((32, 16), "float32", "normal"), "b": spec}
    migration = migrate(source, args, Options(unsafe=True))
    assert migration.trouble == () and "return a_result, b_result\n" in migration.outcome.source


def test_what_is_not_written_is_another_output(migrate):
    """The caller's zeros are gone: the rewrite takes it that there are none, and the proof tells where there are."""
    spec = TensorSpec((32, 16), "float32", "zeros", output=True)
    args = {"x": TensorSpec((32, 16), "float32", "normal"), "out": spec}
    migration = migrate(kernel("nl.store(out[0:8, 0:16], tile[0:8, :])"), args, Options(unsafe=True))
    assert any(line.startswith("numbers: different") for line in migration.trouble)


LAUNCHES = {
    "k(a, b)": "b[...] = k(a, b)",
    "k[2](a, out=b.first)": "b.first[...] = k[2](a, out=b.first)",
    "k(a, outs[0])": "outs[0][...] = k(a, outs[0])",
    "nki.simulate_kernel(k, a, b)": "b[...] = k(a, b)",
    "b = k(a, b)": "b = k(a, b)",
    "return k(a, b)": "return k(a, b)",
}


@pytest.mark.parametrize("launch", LAUNCHES)
def test_launches_take_the_result(launch):
    source = kernel(WRITES["whole"]) + f"\n\nclass Layer:\n    def forward(self, a, b, outs, g):\n        {launch}\n"
    outcome = rewrite(source, Options(unsafe=True))
    assert f"        {LAUNCHES[launch]}\n" in outcome.source, outcome.source
    assert not [f for f in outcome.findings if f.code == "NKI036"]
    assert objection(source, outcome, Options(unsafe=True), "k.py", rewrite) is None


def test_a_launch_in_another_file_takes_the_result():
    host = "import kernels\n\n\ndef run(a, b):\n    kernels.k(a, b)\n    return b\n"
    texts = {"kernels.py": kernel(WRITES["whole"]), "host.py": host}
    outcomes = rewrite_together(texts, Options(unsafe=True))
    assert outcomes["host.py"].source == host.replace("    kernels.k", "    b[...] = kernels.k")
    assert not outcomes["kernels.py"].findings


def test_the_caller_s_array_has_what_it_had():
    source = kernel(WRITES["parts"]) + "\n\ndef run(a, b):\n    k(a, b)\n"
    found = []
    for text in (source, rewrite(source, Options(unsafe=True)).source):
        with shims.installed():
            module = sys.modules["kernels"] = ModuleType("kernels")
            exec(compile(text, "kernels.py", "exec"), vars(module))
            a = np.random.default_rng(1).standard_normal((32, 16), np.float32)
            out = np.zeros_like(a)
            module.run(a, out)
            found.append(out)
    del sys.modules["kernels"]
    assert found[0].any() and (found[0] == found[1]).all()


OTHERWISE = {
    "is read": kernel("nl.store(out, nl.add(tile, nl.load(out[0:32, 0:16])))"),
    "has another name": kernel("other = out\n    nl.store(other, tile)"),
    "is a view": kernel("nl.store(out.reshape((32, 16)), tile)"),
    "is added to": kernel("out[0:32, 0:16] += tile"),
    "may be absent": kernel("nl.store(out, tile)", parameters="x, out=None"),
    "ends early": kernel("if x.shape[0] > 128:\n        return\n    nl.store(out, tile)"),
    "is written in a function inside": kernel("def inner():\n        nl.store(out, tile)\n    inner()"),
    "is written on the line of the header": HEAD + "@nki.trace\ndef k(x, out): nl.store(out, nl.load(x[0:32, 0:16]))\n",
    "is handed on": kernel(WRITES["whole"]) + "\n\nlaunchers = [k]\n",
    "may be another function": kernel(WRITES["whole"]) + "\n\ndef run(k, a, b):\n    k(a, b)\n",
    "is launched later": kernel(WRITES["whole"]) + "\n\ndef run(a, b):\n    launch = k[2]\n    launch(a, b)\n",
    "has arguments out of sight": kernel(WRITES["whole"]) + "\n\ndef run(*given):\n    k(*given)\n",
    "goes into what has no place": kernel(WRITES["whole"]) + "\n\ndef run(a):\n    k(a, make())\n",
    "goes into what is found twice": kernel(WRITES["whole"]) + "\n\ndef run(a, outs):\n    k(a, outs[next(a)])\n",
    "is called by a kernel": kernel(WRITES["whole"]) + "\n\n@nki.jit\ndef all(x, out):\n    k(x, out)\n    return x\n",
    "is of the later style": kernel(WRITES["whole"], "nki.jit"),
}


@pytest.mark.parametrize("why", OTHERWISE)
def test_what_is_more_than_written_is_left(why):
    outcome = rewrite(OTHERWISE[why], Options(unsafe=True))
    assert "nl.shared_hbm" not in outcome.source
    assert outcome.findings, outcome.source
