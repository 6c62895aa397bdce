"""Tensors that may be ``None``: parameters that are left out, names that only some branches bind."""

from __future__ import annotations

import pytest
from nki_migrate.runtime.cases import TensorSpec

HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


"""
BLOCKS = """\
def rows(x, dst=None, scale=None):
    count = x.shape[0] // 32
    if dst is None:
        dst = nl.ndarray((count, nl.par_dim(32), x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
    if scale is not None:
        scaled = nl.ndarray((count, nl.par_dim(32), x.shape[1]), dtype=nl.float32, buffer=nl.sbuf)
    for i in nl.affine_range(count):
        dst[i] = nl.load(x[nl.ds(i * 32, 32), 0 : x.shape[1]], dtype=x.dtype)
        if scale is not None:
            scaled[i] = nl.multiply(dst[i], scale)
    return dst if scale is None else scaled


@nki.jit
def k(x, flag):
    out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    if flag:
        given = nl.ndarray((x.shape[0] // 32, nl.par_dim(32), x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
    else:
        given = None
    first = CALL
    for i in nl.affine_range(x.shape[0] // 32):
        nl.store(out[nl.ds(i * 32, 32), 0 : x.shape[1]], first[i])
    return out
"""


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("call", ["rows(x)", "rows(x, dst=given)", "rows(x, given, 2.0)", "rows(x, scale=0.5)"])
def test_a_tensor_that_a_call_may_leave_out(migrate, call, flag):
    x = TensorSpec((64, 10), "float32", "normal")
    migration = migrate(HEAD + BLOCKS.replace("CALL", call), {"x": x, "flag": flag})
    assert migration.outcome.findings == ()
    assert migration.trouble == ()


@pytest.mark.parametrize("flag", [True, False])
def test_calls_that_leave_it_out_and_calls_that_do_not(migrate, flag):
    source = BLOCKS.replace("CALL", "rows(x, dst=given)")
    source = source.replace("    first =", "    rows(x)\n    other = None\n    rows(x, other)\n    first =")
    migration = migrate(HEAD + source, {"x": TensorSpec((64, 10), "bfloat16", "normal"), "flag": flag})
    assert migration.outcome.findings == ()
    assert migration.trouble == ()


LOOP = """\
@nki.jit
def k(x, flag):
    out = nl.ndarray((128, 10), dtype=nl.float32, buffer=nl.shared_hbm)
    total = None
    for i in nl.LOOP(3):
        tile = nl.load(x[i])
        if total is None:
            total = nl.copy(tile)
        else:
            total = nl.add(total, tile)
    nl.store(out, total)
    return out
"""


@pytest.mark.parametrize("loop", ["static_range", "sequential_range"])
def test_a_name_that_is_none_in_the_first_iteration_only(migrate, loop):
    migration = migrate(HEAD + LOOP.replace("LOOP", loop), {"x": TensorSpec((3, 128, 10), "float32"), "flag": True})
    assert migration.outcome.findings or migration.trouble == ()


MASKED = """\
def copied(x, out, inside=None):
    i_p, i_f = nl.mgrid[0:64, 0 : x.shape[1]]
    inside = i_p < x.shape[0] if inside is None else (i_p < x.shape[0]) & inside
    tile = nl.load(x[i_p, i_f], mask=inside)
    nl.store(out[i_p, i_f], tile, mask=inside)


@nki.jit
def k(x, flag):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    copied(x, out)
    copied(x, out, flag)
    copied(x, out, inside=None)
    return out
"""


@pytest.mark.parametrize("flag", [True, False])
def test_a_condition_that_a_call_may_leave_out(migrate, flag):
    migration = migrate(HEAD + MASKED, {"x": TensorSpec((50, 10), "float32", "normal"), "flag": flag})
    assert migration.outcome.findings == ()
    assert migration.trouble == ()


LOADED = """\
def loaded(t):
    return nl.load(t, dtype=nl.float32) if t is not None else None


@nki.jit
def k(x, bias=None):
    out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x, dtype=nl.float32)
    BOUND
    USED
    nl.store(out, tile)
    return out
"""
BOUND = {
    "in both branches": "if bias is None:\n        b = None\n    else:\n        b = nl.load(bias, dtype=nl.float32)",
    "before one branch": "b = None\n    if bias is not None:\n        b = nl.exp(nl.load(bias, dtype=nl.float32))",
    "by a choice": "b = nl.load(bias, dtype=nl.float32) if bias is not None else None",
    "by a helper": "b = loaded(bias)",
}
USED = {
    "where there is one": "if b is not None:\n        tile = nl.add(tile, b)",
    "in the other branch": "if b is None:\n        tile = nl.exp(tile)\n    else:\n        tile = nl.multiply(tile, b)",
    "in a choice": "tile = nl.add(tile, b) if b is not None else tile",
}


@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("used", USED)
@pytest.mark.parametrize("bound", BOUND)
def test_a_tile_of_unknown_rank_that_may_be_left_out(migrate, bound, used, given):
    source = HEAD + LOADED.replace("BOUND", BOUND[bound]).replace("USED", USED[used])
    args = {"x": TensorSpec((128, 10), "float32", "normal")}
    args |= {"bias": TensorSpec((128, 10), "float32", "normal")} if given else {}
    migration = migrate(source, args)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
