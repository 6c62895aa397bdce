"""Functions that compute index vectors and masks, at their edges: the numbers stay those of Beta 1."""

from __future__ import annotations

import pytest
from first_rung import rewrite
from nki_migrate.runtime.cases import TensorSpec
from unmarked import unmarked

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


{helper}


@nki.jit
def k(x, n):
    out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    i_p = nl.arange(128)[:, None]
    {body}
    t[i_p, v] = nl.exp(t[i_p, v])
    nl.store(out, value=t)
    return out
"""
X = TensorSpec((128, 64), "float32", "normal")


@pytest.mark.parametrize("n", [5, 0, None, True])
@pytest.mark.parametrize("size", ["n and 16 or 32", "n and 3 or 2", "4 + (n or 0)", "3 if (n if n else 1) else 9"])
def test_what_a_short_circuit_gives_is_its_last_operand(migrate, n, size):
    source = KERNEL.format(
        helper=f"def vec(n):\n    size = {size}\n    return nl.arange(size)[None, :]", body="v = vec(n)"
    )
    migration = migrate(source, {"x": X, "n": n})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


@pytest.mark.parametrize(
    ("helper", "body"),
    [
        ("def vec(s):\n    return nl.arange(s[0])[None, :] + s[1]", "c = [n, 3]\n    v = vec(c)\n    c[1] = 9"),
        ("def vec(s):\n    return nl.arange(len(s))[None, :]", "c = [n, 3]\n    v = vec(c)\n    c.append(9)"),
        ("def vec(n, o):\n    return nl.arange(n)[None, :] + o", "c = [n, 3]\n    v = vec(n, len(c))\n    c.append(9)"),
        ("unused = 0", "c = [n, 3]\n    v = nl.arange(max(c))[None, :] + sum(c)\n    c[0] = 12"),
        ("unused = 0", "c = [n, 3]\n    v = nl.arange(4)[None, :] + len(c) * 3\n    c.append(9)"),
        ("unused = 0", "v = nl.arange(4)[None, :] + 20 + (-n + 3)"),
        ("unused = 0", "v = nl.arange(4)[None, :] + 20 - (-n - 3)"),
    ],
)
def test_what_containers_and_signs_are_when_the_vector_is_made(migrate, helper, body):
    migration = migrate(KERNEL.format(helper=helper, body=body), {"x": X, "n": 5})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


def test_a_part_of_an_object_that_one_case_reads_is_not_read_before(migrate):
    helper = "def vec(n, c):\n    return nl.arange(n)[None, :] + (c[2] if len(c) > 2 else 1)"
    source = KERNEL.format(helper=helper, body="c = [n, 3]\n    v = vec(n, c)\n    c.append(9)")
    assert any("it is not known what the index 'v' is" in finding.message for finding in rewrite(source).findings)


@pytest.mark.parametrize("index", ["vec(6)", "made.vec()", "made.vec(n) + 1"])
def test_what_code_that_is_not_at_hand_gives_beside_vectors_is_not_taken_for_a_number(index):
    source = KERNEL.format(helper="from other import made, vec", body="v = nl.arange(4)[None, :]")
    outcome = rewrite(source.replace("[i_p, v]", f"[i_p, {index}]"))
    assert any(f.message == f"it is not known what the index '{index.split(' +')[0]}' is" for f in outcome.findings)
    assert f"t[i_p, {index}] = nl.exp(t[i_p, {index}])" in outcome.source


def test_a_bound_that_another_package_computes_is_computed_once_an_access():
    source = KERNEL.format(helper="from other import size", body="v = nl.arange(4)[None, :]")
    text = rewrite(source.replace("value=t)", "value=t)\n    nl.store(out[:, size(3)], value=t[:, 0:1])")).source
    assert unmarked(text).count("size(3)") == 1
