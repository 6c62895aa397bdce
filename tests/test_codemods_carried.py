"""Index vectors that a loop which both versions run again and again reads before it binds them."""

from __future__ import annotations

import pytest
from nki_migrate.codemods import rewrite
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x, n=32):
    out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p = nl.arange(128)[:, None]
    i_f = {first}
    t = nl.load(x)
    for r in nl.static_range(3):
        t[i_p, i_f] = nl.exp(t[i_p, i_f])
        {body}
        t[i_p, i_f] = nl.multiply(t[i_p, i_f], 0.5)
    nl.store(out, value=t)
    return out
"""
X = {"x": TensorSpec((128, 64), "float32", "normal")}


@pytest.mark.parametrize(
    ("first", "body"),
    [
        ("nl.arange(n)[None, :]", "i_f = nl.arange(n)[None, :]"),
        (
            "nl.arange(n)[None, :] + n // 2",
            "for s in nl.static_range(r):\n            i_f = n // 2 + nl.arange(n)[None, :]",
        ),
        (
            "nl.arange(n)[None, :]",
            "if r > 1:\n            i_f = nl.arange(n)[None, :]\n        i_p = nl.arange(128)[:, None]",
        ),
    ],
)
def test_a_vector_that_is_only_bound_to_the_same_one_stays(migrate, first, body):
    migration = migrate(KERNEL.format(first=first, body=body), X)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


@pytest.mark.parametrize(
    "body",
    [
        "i_f = nl.arange(16)[None, :]",
        "i_f = nl.arange(n - r)[None, :]",
        "n = 16\n        i_f = nl.arange(n)[None, :]",
        "if r == 1:\n            n = 8\n        i_f = nl.arange(n)[None, :]",
    ],
)
def test_one_of_another_size_gives_the_size_a_name(migrate, body):
    migration = migrate(KERNEL.format(first="nl.arange(n)[None, :]", body=body), X)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


def test_one_whose_size_cannot_be_written_is_a_finding():
    outcome = rewrite(KERNEL.format(first="nl.arange(n)[None, :]", body="i_f = nl.arange(len(str(r)) * n)[None, :]"))
    assert {finding.line for finding in outcome.findings} >= {13, 14}


@pytest.mark.parametrize(
    ("first", "body"),
    [
        ("nl.arange(n)[None, :]", "i_f = nl.arange(n)[None, :] + r"),
        ("nl.arange(n)[None, :]", "i_f = nl.arange(n)[None, :]\n        i_f += 1"),
        ("nl.arange(n)[None, :]", "i_f, m = nl.arange(n)[None, :], 2"),
        ("nl.arange(n)[None, :]", "for i_f in [nl.arange(n)[None, :]]:\n            pass"),
    ],
)
def test_one_that_may_be_another_in_the_next_iteration_is_a_finding(first, body):
    outcome = rewrite(KERNEL.format(first=first, body=body))
    assert any("'i_f' changes from one iteration to the next" in finding.message for finding in outcome.findings)
