"""Sizes in objects and containers: taken as they are read where nothing can change them, named there where it can."""

from __future__ import annotations

import re

import pytest
from first_rung import rewrite
from nki_migrate.runtime.cases import TensorSpec

SOURCE = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
from theirs import make, use


class Config:
    rows = 64
    pads = (2, 3)


def quiet(cfg, n):
    return min(cfg.rows, n)


def loud(cfg):
    cfg.rows = cfg.rows + 1


@nki.jit
def k(x, pads=(2, 3)):
    out = nl.ndarray((64, 30), dtype=x.dtype, buffer=nl.shared_hbm)
    cfg = Config()
    {before}
    i_p = nl.arange(cfg.rows)[:, None]
    i_f = nl.arange(10 * pads[1])[None, :]
    {between}
    tile = nl.load(x[i_p, i_f + pads[0]])
    {after}
    nl.store(out[i_p, i_f], value=tile)
    return out
"""


def source(before: str = "pass", between: str = "pass", after: str = "pass") -> str:
    return SOURCE.format(before=before, between=between, after=after)


def test_parts_that_nothing_changes_are_sizes(migrate):
    text = source(between="n = quiet(cfg, 3)").replace("from theirs import make, use\n", "")
    migration = migrate(text, {"x": TensorSpec((64, 40), "float32")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


@pytest.mark.parametrize(
    "places",
    [
        {"before": "cfg = make()"},
        {"before": "use(cfg)"},
        {"before": "loud(cfg)"},
        {"before": "cfg.rows = 32"},
        {"after": "use(x.shape)"},
    ],
)
def test_what_happened_before_does_not_matter(places):
    assert "object" not in str(rewrite(source(**places)).findings)


@pytest.mark.parametrize("where", ["between", "after"])
@pytest.mark.parametrize(
    ("change", "holder"),
    [
        ("use(cfg)", "object"),
        ("loud(cfg)", "object"),
        ("cfg.rows = 32", "object"),
        ("cfg.rows += 1", "object"),
        ("cfg.settle()", "object"),
        ("other = cfg; other.rows = 5", "object"),
        ("pads[1] = 5", "container"),
        ("pads.append(5)", "container"),
        ("use(pads)", "container"),
    ],
)
def test_what_may_change_later_is_named_where_it_is_read(where, change, holder):
    after = rewrite(source(**{where: change})).source
    part = "cfg.rows" if holder == "object" else "pads[1]"
    assert re.search(rf"^    \w+ = {re.escape(part)}$", after, re.MULTILINE), after
    assert not re.search(rf"\b(x|out|ndarray)[\[(].*{re.escape(part)}", after), after


def test_a_change_in_the_loop_around_it_counts():
    text = source().replace(
        "    cfg = Config()\n", "    cfg = Config()\n    for t in nl.static_range(2):\n        use(cfg)\n"
    )
    assert not re.search(r"^    \w+ = cfg.rows$", rewrite(text).source, re.MULTILINE)
    inside = text.split("        use(cfg)\n")
    body, end = inside[1].split("    return out\n")
    body = "".join("    " + line + "\n" for line in body.split("\n") if line)
    text = f"{inside[0]}        use(cfg)\n{body}    return out\n{end}"
    assert re.search(r"^        \w+ = cfg.rows$", rewrite(text).source, re.MULTILINE)


def test_a_name_does_not_stand_for_a_part_that_changes():
    text = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x, sizes):
    n = sizes[0]
    sizes[0] = 64
    m = sizes[0]
    a = nl.zeros((nl.par_dim(n), 8), dtype=x.dtype, buffer=nl.sbuf)
    a[0:m, 0:8] = nl.load(x[0:m, 0:8])
    out = nl.ndarray((64, 8), dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=a)
    return out
"""
    assert "dst=a[0:m, 0:8], src" in rewrite(text).source
    assert "dst=a, src" in rewrite(text.replace("sizes[0] = 64", "pass")).source


STATE = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

ROWS = [8, 4]


class Config:
    def __init__(self, rows):
        self.rows = rows


def advance():
    ROWS[0] = ROWS[0] - 4


def doubled(x, sizes, same):
    tile = nl.load(x[0, 0 : sizes[0], 0:8])
    same[0] = 4
    return nl.multiply(tile, 2.0)


@nki.jit
def k(x):
    b, p, f = x.shape
    out = nl.ndarray((5, 8, 8), dtype=x.dtype, buffer=nl.shared_hbm)
    cfg = Config(8)

    def tripled():
        tile = nl.load(x[1, 0 : cfg.rows, 0:8])
        cfg.rows = 6
        return nl.multiply(tile, 3.0)

    sizes = [8, 4]
    nl.store(out[0], value=doubled(x, sizes, sizes))
    nl.store(out[1], value=tripled())
    rows = ROWS[0]
    tile = nl.load(x[2, 0 : ROWS[0], nl.ds(cfg.rows, 8)])
    advance()
    cfg.rows = 5
    nl.store(out[2, 0:rows], value=nl.multiply(tile, 2.0))
    part = x[cfg.rows - 3]
    for i in nl.static_range(2):
        cfg.rows = cfg.rows - i
        tile = nl.load(part[0 : cfg.rows, 0:8])
        cfg.rows = 4
        nl.store(out[3 + i, 0 : tile.shape[0]], value=nl.add(tile, 1.0))
    return out
"""


def test_a_slice_that_a_changing_object_bounds_keeps_its_size(migrate):
    migration = migrate(STATE, {"x": TensorSpec((4, 32, 64), "float32")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


def test_the_class_of_a_global_object_is_one_that_kernels_use():
    text = STATE.replace("    cfg = Config(8)\n", "").replace("\n\n@nki.jit", "\n\ncfg = Config(8)\n\n\n@nki.jit")
    assert "class Config(nl.NKIObject):" in rewrite(text).source


TYPES = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x):
    out = nl.ndarray((2, 64, 16), dtype=nl.float32, buffer=nl.shared_hbm)
    types = {"a": nl.bfloat16}
    tile = nl.ndarray((64, 16), dtype=types["a"])
    tile[...] = nl.load(x)
    types["a"] = nl.float32
    squared = nl.multiply(tile, tile)
    nl.store(out[0], squared)
    types["a"] = nl.float16
    nl.store(out[1], nl.multiply(squared, squared))
    return out
"""


@pytest.mark.parametrize("source", [TYPES, TYPES.replace('{"a": nl.bfloat16}', "[nl.bfloat16]").replace('"a"', "0")])
def test_a_type_in_a_container_is_that_of_the_declaration(migrate, source):
    migration = migrate(source, {"x": TensorSpec((64, 16), "float32", "normal")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
