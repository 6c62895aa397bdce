"""Index vectors that a loop which both versions run again and again reads before it binds them."""

from __future__ import annotations

import pytest
from first_rung import rewrite
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


SHRINKING = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

LIMIT = 4
{module}


@nki.jit
def k(x):
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p, i_f = nl.mgrid[0:rows, 0:columns]
    t = nl.load(x)
    {body}
    nl.store(out, value=t)
    return out
"""
DOUBLED = "t[i_p, i_f] = nl.multiply(t[i_p, i_f], 2.0, mask=i_f < n)\n"


@pytest.mark.parametrize(
    ("module", "body"),
    [
        ("", "n = 2\n    for r in nl.static_range(4):\n        " + DOUBLED + "        n = n - 1"),
        ("", "n = 2\n    while n > -3:\n        " + DOUBLED + "        n -= 2"),
        (
            "",
            "n = 2\n    for r in nl.static_range(2):\n        for s in nl.static_range(2):\n            "
            + DOUBLED
            + "            n = n - 2",
        ),
        ("", "n = 4\n\n    def emit():\n        " + DOUBLED + "\n    emit()\n    n = -2\n    emit()"),
        (
            "",
            "n = 4\n    less = n - 1\n\n    def emit():\n        "
            + DOUBLED.replace("< n", "< less")
            + "\n    emit()\n    n = 0\n    less = -2\n    emit()",
        ),
        ("if nl:\n    LIMIT = -2", DOUBLED.replace("< n", "< LIMIT")),
        ("LIMIT -= 6", DOUBLED.replace("< n", "< LIMIT")),
        ("LIMIT = -2", DOUBLED.replace("< n", "< LIMIT")),
    ],
)
def test_a_number_that_is_positive_at_first_is_not_taken_for_one_that_stays_so(migrate, module, body):
    x = {"x": TensorSpec((16, 12), "float32", "normal")}
    migration = migrate(SHRINKING.replace("{module}", module).replace("{body}", body), x)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


def test_a_tile_under_another_name_in_the_later_iterations_is_no_number():
    body = """\
previous = None
    for r in nl.static_range(3):
        now = nl.load(x)
        if previous is not None:
            t[...] = nl.add(t, previous)
        previous = now"""
    findings = rewrite(SHRINKING.replace("{module}", "").replace("{body}", body)).findings
    assert any("'previous' is None at first" in finding.message for finding in findings)


SCALED = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x):
    n, m = x.shape
    out = nl.ndarray((3, n, m), dtype=nl.float32, buffer=nl.shared_hbm)
    t = nl.load(x)
    s = 1.0
    for r in nl.static_range(3):
        u = nl.multiply(t, s)
        nl.store(out[r], u)
        {}
    return out
"""


@pytest.mark.parametrize(
    "body",
    [
        "s = nl.max(nl.copy(u, dtype=nl.float32), axis=1)",
        "s = u + t",
        "s += t",
        "s = -u",
        "v = u\n        s = v",
        "s = s + 1\n        if r > 1:\n            s = nl.max(u, axis=1)",
    ],
)
def test_a_number_that_later_iterations_have_a_tile_for_is_a_finding(body):
    findings = rewrite(SCALED.format(body)).findings
    assert any("not known whether 's' is a tensor" in finding.message for finding in findings)


@pytest.mark.parametrize(
    "body", ["s = s * 0.5 + r", "s = t.shape[1] * 1.0", "s = nl.tile_size.pmax", "s = min(s, 0.5)"]
)
def test_a_number_that_stays_a_number_scales(migrate, body):
    migration = migrate(SCALED.format(body), X)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
