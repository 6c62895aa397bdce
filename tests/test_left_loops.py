"""A loop or branch that is left alone has one finding: what in it the target has again follows from it."""

from __future__ import annotations

import pytest
from nki_migrate.codemods import Options, rewrite
from nki_migrate.guard import complete, objection

HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def k(x):
    out = nl.ndarray((128, 256), dtype=nl.float32, buffer=nl.shared_hbm)
"""
STEPPED = """\
    for off in nl.affine_range(0, 256, step=64):
        {statement}
    return out
"""
STORE = "nl.store(out[:, off : off + 64], value=nl.exp(nl.load(x[0:128, off : off + 64])))"


def left(statement: str, **options: str) -> list[str]:
    """The messages about a loop that is left, whose output is taken as it is by the guard."""
    source = HEAD + STEPPED.format(statement=statement)
    given = Options(unsafe=True, **options)
    outcome = complete(source, rewrite(source, given, "k.py"), given)
    assert objection(source, outcome, given, "k.py", rewrite) is None
    return sorted(f"{each.code} {each.message}" for each in outcome.findings if each.code.startswith("NKI"))


STEP = "NKI091 nl.affine_range with 'step', which no document describes"


@pytest.mark.parametrize("options", [{}, {"target": "0.3"}, {"oldest": "0.4"}], ids=str)
def test_what_the_target_has_again_is_said_of_the_loop_alone(options):
    assert left(STORE, **options) == [STEP]


def test_a_target_that_lacks_the_functions_says_so():
    names = ("nl.exp", "nl.load", "nl.store")
    expected = [f"NKI090 {name} is not the same in Beta 2" for name in names] + [STEP]
    assert left(STORE, target="0.2") == left(STORE, oldest="0.2") == expected


def test_what_no_version_has_again_is_still_said():
    found = left("nl.store(out[:, nl.arange(64)[None, :] + off], value=nl.load(x[0:128, off : off + 64]))")
    assert found == ["NKI090 nl.arange is not the same in Beta 2", STEP]


def test_a_loop_that_is_rewritten_says_what_is_left_in_it():
    body = "for off in nl.affine_range(4):\n        t = nisa.local_gather(nl.load(x[0:128, 0:64]), x)\n    return out\n"
    found = rewrite(f"{HEAD}    {body}", Options(unsafe=True)).findings
    assert [finding.line for finding in found if finding.code == "NKI090"]
