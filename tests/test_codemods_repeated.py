"""A launch on a grid whose programs never ask for their place: it goes where all of them surely store the same."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from first_rung import Options, rewrite
from nki_migrate.runtime import shims

HEAD = """\
import math

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

"""
OUT = "out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)"


def source(*body: str, helpers: str = "", result: str = "out", parameters: str = "x") -> str:
    lines = "".join(f"    {line}\n" for text in body for line in text.split("\n"))
    kernel = f"@nki.jit\ndef k({parameters}):\n{lines}    return {result}\n"
    return f"{HEAD}\n{helpers}{kernel}\n\ndef run(n, x):\n    return k[n](x)\n"


def launch(text: str) -> tuple[str, str]:
    """The launch as it is rewritten, and what is said of it."""
    outcome = rewrite(text, Options())
    said = " ".join(f"{f.message} {f.help}" for f in outcome.findings if f.code == "NKI016")
    return outcome.source.rstrip().rpartition("return ")[2], said


HELPER = "def scaled(tile, n):\n    grown = nl.multiply(tile, n, dtype=nl.float32)\n    return grown\n\n\n"


@pytest.mark.parametrize(
    ("body", "helpers"),
    [
        ((OUT, "nl.store(out, nl.load(x))"), ""),
        ((OUT, "nl.store(dst=out[0:64], value=nl.load(x[0:64]))", "assert out.shape[0] == 64"), ""),
        ((OUT, "flat = out.reshape((x.shape[0] * x.shape[1],))", "nl.store(flat[0:8], nl.load(x[0, 0:8]))"), ""),
        ((OUT, "n = 0\nfor i in nl.affine_range(2):\n    n += 1", "nl.store(out, nl.load(x))"), ""),
        (
            (
                OUT,
                "acc = nl.zeros((64, 8), dtype=nl.float32, buffer=nl.psum)",
                "acc[...] += nl.load(x)\nacc += nl.load(x)\nnl.store(out, acc)",
            ),
            "",
        ),
        ((OUT, "nl.store(out, scaled(nl.load(x), math.sqrt(2)))"), HELPER),
        (("return x",), ""),
    ],
)
def test_a_grid_goes_where_nothing_is_read_that_is_written(body, helpers):
    assert launch(source(*body, helpers=helpers)) == ("k(x)", "")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ((OUT, "nl.store(out, nl.load(x))\nnl.store(out, nl.add(nl.load(out), 1.0))"), "may read 'out'"),
        ((OUT, "for i in range(2):\n    nl.store(out, nl.add(nl.load(out), 1.0))"), "may read 'out'"),
        ((OUT, "same = out\nnl.store(out, nl.load(same))"), "may read 'out'"),
        ((OUT, "part = out[0:64]\nnl.store(out, nl.load(part))"), "may read 'out'"),
        ((OUT, "view = out.reshape((8, 64))\nnl.store(out, nl.load(view[0:8]))"), "may read 'view'"),
        ((OUT, "pair = [out]\nnl.store(out, nl.load(pair[0]))"), "may read 'out'"),
        ((OUT, "nl.store(out, nl.load(x, mask=out))"), "may read 'out'"),
        ((OUT, "helper(out, x)"), "may read 'out'"),
        ((OUT, "nl.store(x, nl.load(x))"), "stores to 'x'"),
        ((OUT, "y = x.reshape((8, 64))\nnl.store(y, nl.load(x))"), "stores to 'y'"),
        ((OUT, "out = x\nnl.store(out, nl.add(nl.load(x), 1.0))"), "stores to 'out'"),
        ((OUT, "x[...] = nl.load(x)"), "writes to 'x'"),
        ((OUT, "y = x\ny += 1.0"), "writes to 'y'"),
        ((OUT, "x += 1.0"), "writes to 'x'"),
        ((OUT, "nl.atomic_rmw(out, nl.load(x), op=nl.add)"), "calls nl.atomic_rmw"),
        ((OUT, "nl.atomic_rmw(x, nl.load(x), op=nl.add)"), "calls nl.atomic_rmw"),
        ((OUT, "nisa.dma_copy(dst=x, src=x)"), "calls nisa.dma_copy"),
        ((OUT, "nl.store(out, nl.rand((64, 8)))"), "calls nl.rand"),
        ((OUT, "t = written(x)\nnl.store(out, nl.load(t))"), "stores to 't'"),
        ((OUT, "unknown(x)"), "calls unknown"),
        ((OUT, "x.update(out.shape)"), "calls x.update"),
        ((OUT, "def inner():\n    return 1\nnl.store(out, nl.load(x))"), "defines a function"),
        (("if x.shape[0] > 1:", f"    {OUT}", "else:", "    out = x", "nl.store(out, nl.load(x))"), "stores to 'out'"),
        (("out = [nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.hbm)]\nnl.store(out[0], nl.load(x))",), "stores to"),
    ],
)
def test_a_grid_stays_where_something_may_be(body, said):
    helpers = (
        "def helper(t, x):\n    nl.store(t, nl.add(nl.load(t), 1.0))\n\n\n"
        "def written(x):\n    t = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.hbm)\n"
        "    nl.store(t, nl.load(x))\n    return t\n\n\n"
    )
    text, found = launch(source(*body, helpers=helpers))
    assert text == "k[n](x)"
    assert "never asks for its place in it" in found and said in found


def test_one_program_gives_what_all_gave(tmp_path):
    text = source(
        OUT,
        "view = out.reshape((64, 8))",
        "for i in nl.affine_range(2):",
        "    nl.store(view[32 * i : 32 * i + 32, 0:8], scaled(nl.load(x[32 * i : 32 * i + 32, 0:8]), 2.0))",
        helpers=HELPER,
    )
    x = np.arange(64 * 8, dtype=np.float32).reshape(64, 8)
    results = []
    for name, code in (("before", text), ("after", rewrite(text).source)):
        path, module = tmp_path / f"{name}.py", ModuleType(name)
        path.write_text(code)
        module.__file__ = str(path)
        with shims.installed():
            exec(compile(code, str(path), "exec"), module.__dict__)
            results.append(module.run(3, x))
    assert launch(text)[0] == "k(x)"
    assert np.array_equal(results[0], 2 * x) and np.array_equal(*results)
