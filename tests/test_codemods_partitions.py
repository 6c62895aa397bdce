"""Parts of tiles that engines read or write: Beta 1 moves what starts at an odd partition, Beta 2 refuses it.

Whatever the rewrite writes without a finding or a note runs.
"""

from __future__ import annotations

import pytest
from examples import examples
from first_rung import rewrite
from hypothesis import given, settings
from hypothesis import strategies as st
from nki_migrate.runtime.cases import TensorSpec
from nki_migrate.runtime.spec.instructions import start_partitions

HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np


"""
KERNEL = """\
@nki.jit
def k(x, start, count):
    tile = nl.load(x[0:128, 0:16])
    out = nl.ndarray((128, 16), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p = nl.arange(16)[:, None]
    i_f = nl.arange(8)[None, :]
{body}    nl.store(out, value=tile)
    return out
"""
CODE = "NKI021"
NUMBERS = {"start": "number", "count": "number"}


CHANGED = "def changed(part):\n    part[...] = nl.exp(part)\n\n\n"
STORED = "def stored(place, part):\n    nl.store(place, value=part)\n\n\n"


def source(body: str) -> str:
    head = (CHANGED if "changed" in body else "") + (STORED if "stored" in body else "")
    return HEAD + head + KERNEL.format(body="".join(f"    {line}\n" for line in body.splitlines()))


def args(start: int, count: int) -> dict[str, object]:
    return {"x": TensorSpec((128, 16), "float32", "normal"), "start": start, "count": count}


STATEMENTS = (
    "tile[{a}:{b}] = nl.exp(tile[{a}:{b}])",
    "tile[nl.ds({a}, {n}), 0:8] = nl.add(tile[nl.ds({a}, {n}), 0:8], 1.0)",
    "tile[{a}:{b}, 0:1] = nisa.tensor_reduce(np.max, tile[{a}:{b}, 0:16], axis=1)",
    "tile[{a}:{b}] = 2.0",
    "part = tile[{a}:{b}]\npart[...] = nl.multiply(part, 0.5)",
    "tile[{a}:{b}, 2 * i_f[0, 0:1]] = nl.copy(tile[{a}:{b}, 0:1])",
    "copied = nl.copy(tile[{a}:{b}])\nnl.store(out[{a}:{b}], value=copied)",
    "nl.store(out[{a}:{b}], value=tile[{a}:{b}])",
)


@pytest.mark.random
@settings(max_examples=examples(15))
@given(
    st.sampled_from((0, 1, 16, 32, 33, 48, 64, 80, 96, 112)),
    st.sampled_from((1, 8, 16, 32, 48, 64)),
    st.sampled_from(STATEMENTS),
    st.booleans(),
)
def test_what_an_engine_does_not_reach_has_a_finding_or_a_note(migrate, start, count, statement, named):
    count = min(count, 128 - start)
    one, other = ("start", "start + count") if named else (str(start), str(start + count))
    text = source(statement.format(a=one, b=other, n="count" if named else count))
    migration = migrate(text, args(start, count))
    assert migration.objection is None
    by_dma = statement == "nl.store(out[{a}:{b}], value=tile[{a}:{b}])"
    left = [f for f in migration.outcome.findings if "may start at" in f.message]
    noted = [a for a in migration.outcome.asserted if "start" in a.text]
    if migration.outcome.findings and not left:
        return  # nothing to do with partitions
    if by_dma or start in start_partitions(count):
        assert not left and migration.trouble == ()
        assert bool(noted) == (named and not by_dma)
    else:
        assert bool(noted) == named and bool(left) != named
        assert all(f.code == CODE and f.applicability == "manual" for f in left)
        assert migration.trouble


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("tile[16 + i_p, 2 * i_f] = nl.exp(tile[16 + i_p, 2 * i_f])", "partition 16"),
        ("tile[32 + i_p, 2 * i_f] = nl.exp(tile[32 + i_p, 2 * i_f])", ""),
        ("tile[i_p, 2 * i_f] = nl.exp(tile[i_p, 2 * i_f])", ""),
        ("for i in nl.affine_range(4):\n    tile[i * 32:i * 32 + 32] = nl.exp(tile[i * 32:i * 32 + 32])", ""),
        ("for i in nl.affine_range(4):\n    tile[i * 32 + i_p, i_f] = nl.exp(tile[i * 32 + i_p, 2 * i_f])", ""),
        ("half = nl.tile_size.pmax // 2\ntile[half:128] = nl.exp(tile[half:128])", ""),
        ("changed(tile[16:32])", "partition 16"),
        ("changed(tile[32:64])", ""),
        ("changed(tile[32:64])\nchanged(tile[64:128])", ""),
        ("stored(out[16:32], tile[16:32])", ""),
    ],
)
def test_starts_that_the_source_tells(migrate, statement, message):
    migration = migrate(source(statement), args(0, 1))
    found = [f.message for f in migration.outcome.findings]
    assert any(message in text for text in found) if message else found == []
    assert bool(migration.trouble) == bool(message)


@pytest.mark.parametrize(
    ("statement", "condition"),
    [
        (
            "tile[start:start + count] = nl.exp(tile[start:start + count])",
            "start % 64 == 0 or start % 32 == 0 and count <= 32",
        ),
        ("tile[start:start + 16] = nl.exp(tile[start:start + 16])", "start % 32 == 0"),
        ("tile[start:start + 48] = nl.exp(tile[start:start + 48])", "start % 64 == 0"),
        (
            "tile[start * 32:start * 32 + count] = 1.0",
            "(start * 32) % 64 == 0 or (start * 32) % 32 == 0 and count <= 32",
        ),
        ("tile[start + i_p, 2 * i_f] = nl.exp(tile[start + i_p, i_f])", "start % 32 == 0"),
        ("changed(tile[start:start + 32])", "'part' starts where an engine reaches its partitions"),
    ],
)
def test_what_only_a_trace_tells_is_a_note(statement, condition):
    outcome = rewrite(source(statement))
    assert outcome.findings == ()
    assert [a.text for a in outcome.asserted if "% 32" in a.text or "% 64" in a.text or "engine" in a.text] == [
        condition
    ]


PMAX = "nl.tile_size.pmax"
LATER = f"nl.ds({PMAX} // 2, {PMAX} // 2)"


@pytest.mark.parametrize(
    "body",
    [
        f"half = {PMAX} // 2\ntile[0:half] = nl.exp(tile[half:{PMAX}])",
        f"tile[{PMAX} // 2 : 128] = nl.exp(tile[0:64])",
        f"tile[{LATER}] = nl.exp(tile[{LATER}])",
        f"tile[{PMAX} - 32 : {PMAX}] = nl.exp(tile[0:32])",
    ],
)
def test_constants_of_the_language_are_numbers(body, migrate):
    migration = migrate(source(body), args(0, 0))
    assert not migration.trouble and migration.outcome.asserted == () and migration.outcome.findings == ()


def test_a_start_made_of_a_constant_is_refused_where_no_engine_reaches_it():
    found = rewrite(source(f"tile[{PMAX} // 8 : {PMAX} // 4] = nl.exp(tile[0:16])")).findings
    assert [finding.code for finding in found] == [CODE] and "partition 16" in found[0].message
