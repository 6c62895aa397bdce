"""Lists of tensors, one of two places, and parts of tensors under names: what a name is depends on what ran before."""

from __future__ import annotations

import pytest
from first_rung import rewrite
from nki_migrate.runtime.cases import TensorSpec

HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


"""
LISTS = HEAD + """\
def reshaped(refs, shapes):
    found = []
    for ref, shape in zip(refs, shapes):
        {before}
        found.append(ref.reshape(shape) if ref.shape != shape else ref)
    {after}
    return found


@nki.jit
def k(x, y, shapes=None):
    out = nl.ndarray((64, 4, 8), dtype=nl.float32, buffer=nl.shared_hbm)
    result = out.reshape((64, 32))
    if shapes:
        x, y = reshaped([x, y], shapes)
    (result,) = reshaped([result], [(64, 4, 8)])
    i_p = nl.arange(64)[:, None, None]
    i_a = nl.arange(4)[None, :, None]
    i_b = nl.arange(8)[None, None, :]
    nl.store(result[i_p, i_a, i_b], value=nl.add(nl.load(x[i_p, i_a, i_b]), nl.load(y[i_p, i_a, i_b])))
    return out
"""


@pytest.mark.parametrize(("shape", "shapes"), [((64, 4, 8), None), ((64, 32), [[64, 4, 8], [64, 4, 8]])])
def test_a_list_of_tensors_that_a_function_fills_and_returns(migrate, shape, shapes):
    spec = TensorSpec(shape, "float32", "normal")
    migration = migrate(LISTS.format(before="pass", after="pass"), {"x": spec, "y": spec, "shapes": shapes})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("found.append(shape)", "pass"),
        ("pass", "found.append(3)"),
        ("pass", "other = found"),
        ("pass", "found[0] = shapes"),
        ("found = [ref]", "pass"),
        ("refs[0] = shape", "pass"),
    ],
)
def test_a_list_that_may_hold_something_else_holds_nothing_known(before, after):
    messages = [finding.message for finding in rewrite(LISTS.format(before=before, after=after)).findings]
    assert any("it is not known what" in message or "not known to be a tensor" in message for message in messages)


EITHER = HEAD + """\
@nki.jit
def k(x, first):
    out = nl.ndarray((64, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p = nl.arange(64)[:, None]
    i_f = nl.arange(8)[None, :]
    a = nl.load(x[i_p, i_f])
    if first:
        high = out
    nl.store(out, value=nl.zeros((64, 64), x.dtype))
    nl.store({dst}, value={value}, mask={mask})
    return out
"""


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    "access",
    [
        {"dst": "out[i_p, i_f] if first else out[i_f, i_p]"},
        {"dst": "out[i_p, i_f + 8] if not first or False else out[i_p, i_f + 3]"},
        {"dst": "high[i_p, i_f] if first else out[i_p, i_f + 8]"},
        {"dst": "out[i_p, i_f]", "value": "nl.exp(a)"},
        {"dst": "out[i_p, i_f + 1] if min(1, int(first)) > 0 else out[i_f, i_p]", "value": "nl.exp(a)"},
        {"dst": "out[i_p, i_f] if first else out[i_f, i_p]", "value": "nl.exp(a)", "mask": "i_p < x.shape[0] - 3"},
    ],
)
def test_a_store_to_one_of_two_places(migrate, first, access):
    text = EITHER.format(**{"value": "a", "mask": "None", **access})
    migration = migrate(text, {"x": TensorSpec((64, 8), "float32", "normal"), "first": first})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


CHOSEN = HEAD + """\
@nki.jit
def k(x, first):
    out = nl.ndarray((4, 128, 32), dtype=x.dtype, buffer=nl.shared_hbm)
    one = nl.load(x)
    other = nl.exp(one)
    i_p = nl.arange(128)[:, None]
    i_f = nl.arange(32)[None, :]
    for i in nl.static_range(4):
        j = i * 32
        if first:
            v = {one}
        else:
            v = {other}
        product = nl.ndarray((nl.par_dim(32), 32), dtype=nl.float32, buffer=nl.psum)
        product[...] = nisa.nc_matmul(v[i_p < 100], one[i_p, i_f][i_p < 100])
        nl.store(out[i, nl.arange(32)[:, None], i_f], value=nl.copy(product))
    nl.store(out[0:4, 32:128], nl.zeros((4, 96, 32), x.dtype))
    return out
"""


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("one[i_p, 2 * i_f + j // 2]", "one[i_p, 2 * i_f + i]"),
    ],
)
def test_a_part_of_one_of_two_tensors_is_cut_by_a_mask(migrate, one, other, first):
    text = CHOSEN.format(one=one, other=other)
    migration = migrate(text, {"x": TensorSpec((128, 128), "float32", "normal"), "first": first})
    assert (migration.objection, migration.trouble) == (None, ())
    assert migration.outcome.findings == ()


@pytest.mark.parametrize("place", ["i_f + j", "2 * i_f + i"])
def test_parts_of_tensors_that_are_not_seen_to_be_alike_are_not_cut(place):
    outcome = rewrite(CHOSEN.format(one=f"one[i_p, {place}]", other=f"other[i_p, {place}]"))
    assert any(finding.line == 20 for finding in outcome.findings)
    assert "nc_matmul(v[i_p < 100]" in outcome.source


STALE = HEAD + """\
@nki.jit
def k(x, first):
    out = nl.ndarray((4, 128, 32), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    i_p = nl.arange(128)[:, None]
    i_f = nl.arange(32)[None, :]
    n = 1
    for i in {loop}(4):
        j = i * 32
        {header}
            v = tile[i_p, i_f + j]
        copied = nl.zeros((nl.par_dim(128), 32), dtype=x.dtype, buffer=nl.sbuf)
        copied[i_p, i_f] = nl.copy(v[i_p, i_f], mask=(i_p < 100))
        nl.store(out[i, i_p, i_f], value=copied[i_p, i_f])
    return out
"""


@pytest.mark.parametrize(
    "header",
    [
        "if i % 2 == 0:",
        "for m in nl.static_range(1 - i % 2):",
        "m = i % 2\n        while m == 0:\n            m = 1",
    ],
)
def test_a_part_that_an_earlier_iteration_took_is_not_cut_again(header):
    """The names in its place mean something else by then: ``tile[..., nl.ds(j, 32)]`` would be this iteration's."""
    outcome = rewrite(STALE.format(loop="nl.static_range", header=header))
    assert any("a part of 'v'" in finding.message for finding in outcome.findings)
    assert "v = tile[0:128, nl.ds(j, 32)]" in outcome.source


def test_a_part_that_every_iteration_takes_is_cut(migrate):
    text = STALE.format(loop="nl.static_range", header="").replace("        \n            v", "        v")
    migration = migrate(text, {"x": TensorSpec((128, 128), "float32", "normal"), "first": True})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
