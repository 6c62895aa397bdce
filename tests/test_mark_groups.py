"""One mark tells what only follows from its finding, and the same findings behind it; all of them are found again."""

from __future__ import annotations

import ast

import pytest
from first_rung import rewrite
from hypothesis import given
from hypothesis import strategies as st
from nki_migrate.codemods.driver.backlog import backlog
from nki_migrate.codemods.emit.mark_groups import Group, read
from nki_migrate.codemods.syntax.mark_text import WORD

HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np


@nki.jit
def k(x, flag=True):
    out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    {body}
    nl.store(out, t)
    return out
"""

BODIES = {
    "vectors that are kept": (
        "i_p = nl.arange(128)[:, None]\ni_f = nl.arange(64)[None, :]\nmask = (i_p < 4) | (i_f < 2)\n"
        "t[i_p, i_f] = nl.exp(t, mask=mask)",
        ["the index vector 'i_p' is used outside a subscript; 'i_p' and 'i_f' are kept for it"],
    ),
    "the same in one block": (
        "t = nisa.local_gather(t, t)\nt = nisa.local_gather(t, t)\nt = nisa.local_gather(t, t)",
        ["; 2 more below"],
    ),
    "the same in other blocks": (
        "if flag:\n    t = nisa.local_gather(t, t)\nelse:\n    t = nisa.local_gather(t, t)",
        ["nisa.local_gather", "nisa.local_gather"],
    ),
}


def marks(source: str) -> list[str]:
    return [line.strip() for line in source.split("\n") if WORD in line]


@pytest.mark.parametrize("name", BODIES)
def test_one_mark_tells_what_follows_from_it(name: str) -> None:
    body, expected = BODIES[name]
    outcome = rewrite(HEAD.format(body=body.replace("\n", "\n    ")))
    first = [mark for mark in marks(outcome.source) if mark.startswith("assert")]
    assert len(first) >= len(expected)
    for text in expected:
        assert any(text in mark for mark in first), first
    assert not any(mark.startswith("#") for mark in marks(outcome.source))
    again = backlog(outcome.source, ast.parse(outcome.source), "0.2")
    assert {(f.code, f.message) for f in again} == {(f.code, f.message) for f in outcome.findings if f.code != "NKI001"}


def test_what_a_harness_measured_goes_with_it() -> None:
    host = "\n\ndef main(x):\n    timed = nki.benchmark(k)\n    timed(x)\n    print(timed.benchmark_result)\n"
    outcome = rewrite(HEAD.format(body="pass") + host)
    (mark,) = marks(outcome.source)
    assert mark.startswith("# nki-migrate NKI007: ") and mark.endswith("; 'timed' comes of it")
    assert [f.follows for f in outcome.findings if f.code == "NKI007"] == [False, True]


def test_a_name_of_host_code_has_one_mark_in_a_file() -> None:
    outcome = rewrite(
        HEAD.format(body="pass") + "\n\nCORES = nl.nc(2)\nMORE = nl.nc(3)\n\n\ndef f():\n    return nl.nc(1)\n"
    )
    (mark,) = marks(outcome.source)
    assert mark == "# nki-migrate NKI090: nl.nc is not the same in Beta 2; 2 more below"
    again = backlog(outcome.source, ast.parse(outcome.source), "0.2")
    assert {f.message for f in again} == {f.message for f in outcome.findings if f.code == "NKI090"}


NAMES = st.lists(st.sampled_from(["a", "i_p", "b2"]), unique=True)


@given(
    st.sampled_from(["nl.f is left", "a; b", "'x' is kept for it, they say", "3 more"]),
    NAMES,
    NAMES,
    st.integers(0, 12),
)
def test_what_a_mark_says_is_read_again(said: str, kept: list[str], following: list[str], more: int) -> None:
    group = Group(kept, following, more)
    assert read(said + group.text) == (said, group)
