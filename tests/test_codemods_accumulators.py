"""Zeros in PSUM that the first matmul overwrites go; all others stay."""

from __future__ import annotations

import pytest
from first_rung import rewrite
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def k(x, some=2, none=0):
    n = x.shape[1] // 64
    out = nl.ndarray((n, 64, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x)
    other = nl.load(x)
{body}
    return out
"""
ARGS = {"x": TensorSpec((128, 256), "float32")}
ONE = "t = nl.zeros((64, 64), nl.float32, buffer=nl.psum)\n"
BLOCKS = "t = nl.zeros((n, nl.par_dim(64), 64), nl.float32, buffer=nl.psum)\n"
PRODUCT = "nl.matmul(tile[:, nl.ds(i * 64, 64)], other[:, nl.ds(i * 64, 64)], transpose_x=True)"
STORED = "for i in nl.affine_range(n):\n    nl.store(out[i], nl.copy(t{}))"


def kernel(body: str) -> str:
    return KERNEL.format(body="\n".join(f"    {line}" if line else "" for line in body.split("\n")))


DROPPED = {
    "a loop": f"{ONE}for i in nl.affine_range(n):\n    t += {PRODUCT}\n{STORED.format('')}",
    "a number of times": f"{ONE}for i in nl.affine_range(4):\n    t[...] += {PRODUCT}\n{STORED.format('')}",
    "two loops": (
        f"{ONE}for j in range(some):\n    for i in nl.affine_range(n):\n        t += {PRODUCT}\n{STORED.format('')}"
    ),
    "a loop from 0": f"{ONE}for i in range(0, n):\n    t[:, :] += {PRODUCT}\n{STORED.format('')}",
    "straight away": f"{ONE}i = 0\nt += {PRODUCT}\ni = 1\nt += {PRODUCT}\n{STORED.format('')}",
    "in a loop": (
        f"for j in nl.affine_range(n):\n    {ONE}    for i in nl.affine_range(n):\n        t += {PRODUCT}\n"
        "    nl.store(out[j], nl.copy(t))"
    ),
    "blocks": f"{BLOCKS}for i in nl.affine_range(n):\n    t[i] += {PRODUCT}\n{STORED.format('[i]')}",
    "blocks, several times": (
        f"{BLOCKS}for j in nl.affine_range(some):\n    for i in nl.affine_range(n):\n"
        f"        for m in nl.affine_range(2):\n            t[i, :, :] += {PRODUCT}\n{STORED.format('[i]')}"
    ),
    "one name for two tiles": (
        f"for j in nl.affine_range(n):\n    {ONE}    for i in nl.affine_range(n):\n        t += {PRODUCT}\n"
        f"    nl.store(out[j], nl.copy(t))\n" * 2
    ).rstrip(),
    "one name, one after the other": "".join(
        f"{ONE}for i in nl.affine_range(n):\n    t += {PRODUCT}\nnl.store(out[{j}], nl.copy(t))\n" for j in range(2)
    ).rstrip(),
    "an overwriting matmul": f"{ONE}i = 0\nt[...] = {PRODUCT}\n{STORED.format('')}",
}


@pytest.mark.parametrize("name", DROPPED)
def test_zeros_that_a_matmul_overwrites_go(migrate, name):
    migration = migrate(kernel(DROPPED[name]), ARGS)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "zeros(" not in migration.outcome.source


def test_a_loop_that_may_not_run_is_asserted_once():
    body = ONE + ONE.replace("t =", "u =")
    body += f"for i in nl.affine_range(n):\n    t += {PRODUCT}\n    u += {PRODUCT}"
    assert rewrite(kernel(body)).source.count('    assert n > 0, "rewritten for loops that run"\n') == 1


def test_a_loop_that_does_not_run_after_all_says_so(migrate):
    migration = migrate(kernel(f"{ONE}for i in range(none):\n    t += {PRODUCT}\n{STORED.format('')}"), ARGS)
    assert '    assert none > 0, "rewritten for loops that run"\n' in migration.outcome.source
    assert any("did not run to the end" in line for line in migration.trouble)


@pytest.mark.parametrize("proof", ["assert n > 0", "assert n >= 1", "assert n == 4"])
def test_a_loop_that_is_known_to_run_is_not_asserted(proof):
    source = rewrite(kernel(f"{proof}\n{DROPPED['a loop']}")).source
    assert "zeros(" not in source and source.count("assert") == 1


def test_a_loop_over_the_tiles_of_a_multiple_runs():
    source = (
        kernel(DROPPED["a loop"])
        .replace("    n = ", "    width = x.shape[1]\n    n = ")
        .replace("x.shape[1] //", "width //")
    )
    assert rewrite(source).source.count("assert") == 1
    known = rewrite(source.replace("    n = ", "    assert width % 64 == 0\n    n = ")).source
    assert "zeros(" not in known and known.count("assert") == 1


KEPT = {
    "one name, and a read before the second": (
        f"{ONE}for i in nl.affine_range(n):\n    t += {PRODUCT}\n{STORED.format('')}\n"
        f"{ONE}s = nl.copy(t)\nfor i in nl.affine_range(n):\n    t += {PRODUCT}\n    nl.store(out[i], s)"
    ),
    "one name, the second in a condition": (
        f"{ONE}if some > 1:\n    {ONE}for i in nl.affine_range(n):\n    t += {PRODUCT}\n{STORED.format('')}"
    ),
    "fewer and fewer times": (
        f"for j in range(n):\n    {ONE}    for i in range(n - 1 - j):\n        t += {PRODUCT}\n"
        "    nl.store(out[j], nl.copy(t))"
    ),
    "a condition": f"{ONE}for i in range(n):\n    if i > 1:\n        t += {PRODUCT}\n{STORED.format('')}",
    "a mask": (
        f"{ONE}p = nl.arange(64)[:, None]\nf = nl.arange(64)[None, :]\nfor i in nl.affine_range(n):\n"
        "    t[p, f] += nisa.nc_matmul(tile[:, nl.ds(i * 64, 64)], other[:, 0:64], mask=(p + 8 * i < 40))\n"
        f"{STORED.format('')}"
    ),
    "a part": (
        f"{ONE}for i in nl.affine_range(n):\n"
        "    t[:, 0:32] += nl.matmul(tile[:, nl.ds(i * 64, 64)], other[:, 0:32], transpose_x=True)\n"
        f"{STORED.format('')}"
    ),
    "a read before": f"{ONE}s = nl.copy(t)\nfor i in nl.affine_range(n):\n    t += {PRODUCT}\n    nl.store(out[i], s)",
    "a read before in the loop": (
        f"{ONE}for i in nl.sequential_range(n):\n    nl.store(out[i], nl.copy(t))\n    t += {PRODUCT}"
    ),
    "a second name": f"{ONE}u = t\nfor i in nl.affine_range(n):\n    nl.store(out[i], nl.copy(u))\n    t += {PRODUCT}",
    "a loop that may end before": (
        f"{ONE}for i in range(n):\n    if none == i:\n        break\n    t += {PRODUCT}\n{STORED.format('')}"
    ),
    "a loop from elsewhere": f"{ONE}for i in range(some, n):\n    t += {PRODUCT}\n{STORED.format('')}",
    "a length that changes": (
        f"{ONE}end = 2\nfor j in range(2):\n    for i in range(end):\n        t += {PRODUCT}\n"
        f"    end = 0\n{STORED.format('')}"
    ),
    "some blocks": f"{BLOCKS}for i in nl.affine_range(n - 1):\n    t[i] += {PRODUCT}\n{STORED.format('[i]')}",
    "a neighbour": (
        f"{BLOCKS}for i in nl.sequential_range(n):\n    t[i] += {PRODUCT}\n    nl.store(out[i], nl.copy(t[n - 1 - i]))"
    ),
    "another block": f"{BLOCKS}for i in nl.affine_range(n):\n    t[n - 1 - i] += {PRODUCT}\n{STORED.format('[i]')}",
}


@pytest.mark.parametrize("name", KEPT)
def test_zeros_that_something_may_read_stay(migrate, name):
    migration = migrate(kernel(KEPT[name]), ARGS)
    assert "zeros(" in migration.outcome.source
    if not migration.outcome.findings:
        assert (migration.objection, migration.trouble) == (None, ())


def test_zeros_of_a_statement_that_was_left_alone_stay():
    product = PRODUCT.replace("other[:, nl.ds(i * 64, 64)]", "unknown(i)")
    outcome = rewrite(kernel(f"{ONE}for i in nl.affine_range(n):\n    t += {product}"))
    assert outcome.findings and "zeros(" in outcome.source
