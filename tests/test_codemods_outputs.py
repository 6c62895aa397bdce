"""Kernels that write to what they get: Beta 2 gives back only what a kernel returns, so each such store is said."""

from __future__ import annotations

import itertools

import pytest
from first_rung import Options, rewrite, rewrite_together
from nki_migrate.guard import objection

HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


def put(dst, tile):
    nl.store(dst, tile)


def put_there(tile, where):
    put(where[0:128, 0:64], tile)


def same(tensor):
    return tensor


"""
WAYS = {
    "store": "nl.store(output, tile)",
    "by name": "nl.store(value=tile, dst=output)",
    "a part": "nl.store(output[0:128, 0:64], tile)",
    "another name": "out = output\n    nl.store(out, tile)",
    "a part under a name": "out = output[0:128]\n    nl.store(out, tile)",
    "a view": "out = output.reshape((128, 64))\n    nl.store(out[0:128], tile)",
    "a choice": "out = output if n else x\n    nl.store(out, tile)",
    "a branch": "if n:\n        out = output\n    else:\n        out = x\n    nl.store(out, tile)",
    "a list": "outs = [output, output]\n    nl.store(outs[0], tile)",
    "a grown list": "outs = []\n    outs.append(output)\n    nl.store(outs[0], tile)",
    "a loop over tensors": "for out in (output, output):\n        nl.store(out, tile)\n        break",
    "a loop": "for i in nl.affine_range(2):\n        nl.store(output[i * 64 : i * 64 + 64], tile[0:64])",
    "a pair": "a, out = x, output\n    nl.store(out, tile)",
    "a helper": "put(output, tile)",
    "a helper of a helper": "put_there(tile, where=output)",
    "what a helper gives back": "nl.store(same(output), tile)",
    "in place": "nl.store(output, nl.add(nl.load(output), tile))",
    "a copy": "nisa.dma_copy(dst=output, src=tile)",
}
LAUNCHED = {
    "@nki.jit\n": "",
    "@nki.jit(kernel_return=False)\n": "",
    "@nki.trace\n": "",
    "": "launched = nki.jit(k)\n",
    "@nki.benchmark(warmup=5)\n": "k(a, b)\n",
}
RETURNABLE = {"store", "by name", "a part", "a loop", "a helper", "a helper of a helper", "a copy"}
"""Ways that only write: a kernel of the first decorators can return what it writes so."""
FIRST = {"@nki.jit(kernel_return=False)\n", "@nki.trace\n"}
RETURNS = ("", "    return other\n", "    return output\n")


def kernel(decorator, way, end=""):
    other = "    other = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n" if "other" in end else ""
    return f"{decorator}def k(x, output, n=1):\n{other}    tile = nl.load(x)\n    {way}\n{end}"


@pytest.mark.parametrize(("way", "end"), [*itertools.product(WAYS, RETURNS)])
def test_a_store_into_a_parameter_is_left_under_a_finding(way, end):
    for decorator, host in list(LAUNCHED.items()) if not end else [("@nki.jit\n", "")]:
        source = HEAD + kernel(decorator, WAYS[way], end) + f"\n\n{host}"
        for unsafe in (False, True):
            outcome = rewrite(source, Options(unsafe=unsafe))
            said = [f for f in outcome.findings if f.code == "NKI036"]
            can = way in RETURNABLE and decorator in FIRST
            if can and unsafe:
                assert not said and "return result" in outcome.source
                continue
            level = {"review"} if can else {"manual"}
            assert said and {f.applicability for f in said} == level, (decorator, outcome.source)
            assert any("parameter 'output'" in f.message and "'k'" in f.message for f in said)
            for finding in said:  # the statement is as it was
                assert source.split("\n")[finding.line - 1] in outcome.source.split("\n")
            assert objection(source, outcome, Options(unsafe=unsafe), "k.py", rewrite) is None


OUT = "out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
FINE = {
    "its own output": OUT + "    nl.store(out, tile)\n    return out",
    "a helper writes it": OUT + "    put(out, tile)\n    return out",
    "a parameter's name for a tile": "output = nl.load(output)\n    output[...] = nl.exp(output)\n    return x",
    "a parameter's name for an output": "output = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
    "    nl.store(output, tile)\n    return output",
}


@pytest.mark.parametrize("way", FINE)
def test_what_a_kernel_makes_itself_it_may_write(way):
    outcome = rewrite(HEAD + kernel("@nki.jit\n", FINE[way]))
    assert not [f for f in outcome.findings if f.code == "NKI036"]


BARE = HEAD + "def k(x, output=None):\n    nl.store(output, nl.exp(nl.load(x)))\n"


def test_a_function_that_may_be_a_kernel_is_under_review():
    outcome = rewrite(BARE)
    assert [(f.code, f.applicability) for f in outcome.findings] == [("NKI036", "review")]
    assert "    nl.store(output, nl.exp(nl.load(x)))\n" in outcome.source
    assert rewrite(BARE, Options(unsafe=True)).findings == ()


def test_a_launch_in_another_file_tells_that_it_is_one():
    host = "import neuronxcc.nki as nki\nfrom kernels import k\n\nlaunched = nki.jit(k)\n"
    outcomes = rewrite_together({"kernels.py": BARE, "host.py": host}, Options(unsafe=True))
    assert [(f.code, f.applicability) for f in outcomes["kernels.py"].findings] == [("NKI036", "manual")]


def test_a_helper_that_a_kernel_calls_may_write_what_it_gets():
    calling = "\n\n@nki.jit\ndef whole(x):\n    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
    outcome = rewrite(BARE + calling + "    k(x, out)\n    return out\n")
    assert not [f for f in outcome.findings if f.code == "NKI036"]


def test_a_kernel_that_returns_nothing_and_hands_its_output_out_of_sight():
    source = (
        HEAD.replace("\n\n\n", "\nfrom theirs import fill\n\n\n", 1)
        + "@nki.jit\ndef k(x, output):\n    fill(output, x)\n"
    )
    said = [f.message for f in rewrite(source).findings if f.code == "NKI036"]
    assert said and "code that these files do not show" in said[0]


def test_a_decorated_helper_that_kernel_code_without_a_decorator_calls_may_write_what_it_gets():
    """Its caller is kernel code by what it does; ``transpose_p_local`` of nki-samples has such a caller."""
    source = (
        "import neuronxcc.nki as nki\nimport neuronxcc.nki.isa as nisa\nimport neuronxcc.nki.language as nl\n\n\n"
        "@nki.jit\ndef doubled(into, tile):\n    into[...] = nl.add(tile, tile)\n\n\n"
        "def core(into, x):\n    tile = nl.load(x[0:128, 0:64])\n    doubled(into, tile)\n    return tile\n"
    )
    outcome = rewrite(source)
    assert [f.code for f in outcome.findings if f.code == "NKI036"] == []
    assert "@nki.jit" not in outcome.source


RETURNING = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def parts(out):
    return out, 3


{decorator}
def kernel(x, scale=2):
    out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.load(x[0:128, 0:64]))
    lse = None
    return {returned}
"""
DROPPED = (
    *("out, None", "(out, 3)", "out, lse", "out, scale", "{'a': out}", "[out, 'text']", "out, (out, None)"),
    *("out, out.shape[0]", "out, x.dtype", "parts(out)", "out, f'{scale}'"),
)


@pytest.mark.parametrize("returned", DROPPED)
def test_what_a_launch_does_not_get_back_is_said_and_stops_the_kernel(returned: str) -> None:
    outcome = rewrite(RETURNING.format(returned=returned, decorator="@nki.jit"), Options(unsafe=True))
    assert [finding.code for finding in outcome.findings] == ["NKI036"]
    assert 'assert False, "nki-migrate NKI036' in outcome.source


@pytest.mark.parametrize("returned", ["out", "out, out", "[out, (out,)]", "(out,)", "None"])
def test_tensors_in_tuples_and_lists_are_returned(returned: str) -> None:
    outcome = rewrite(RETURNING.format(returned=returned, decorator="@nki.jit"), Options(unsafe=True))
    assert not outcome.findings, outcome.findings


@pytest.mark.parametrize("returned", DROPPED)
def test_helpers_return_what_they_like(returned: str) -> None:
    outcome = rewrite(RETURNING.format(returned=returned, decorator=""), Options(unsafe=True))
    assert "NKI036" not in {finding.code for finding in outcome.findings}


MAYBE = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x, training=False):
    out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.load(x[0:128, 0:64]))
    lse = None
    if training:
        lse = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(lse, nl.load(x[0:128, 0:64]))
        {early}
    {late}
"""


@pytest.mark.parametrize(
    ("early", "late", "asserted"),
    [
        ("pass", "return out, lse", 1),
        ("pass", "return [out, (out, lse)]", 1),
        ("return out, lse", "return out", 0),
        ("pass", "lse = out\n    return out, lse", 0),
        ("pass", "return lse", 0),
        ("pass", "if training:\n        print(lse[0:1, 0:1])\n        return out, lse", 0),
        ("pass", "if training:\n        return out, lse\n    return out", 0),
        ("pass", "if not training:\n        return out\n    else:\n        return out, lse", 1),
        ("training = x.shape[0] == 1", "if training:\n        return out, lse\n    return out", 1),
        ("print(lse[0:1, 0:1])", "return out, lse", 1),
        ("pass", "print(lse[0:1, 0:1] if training else 0)\n    return out, lse", 1),
    ],
)
def test_a_tensor_that_may_be_none_is_asserted_where_a_launch_would_lose_its_place(early, late, asserted) -> None:
    outcome = rewrite(MAYBE.format(early=early, late=late), Options(unsafe=True))
    assert not outcome.findings, outcome.findings
    assert outcome.source.count("lse is not None") == asserted
