"""What a loop that Beta 1 traced once changes through the functions that its body calls."""

from __future__ import annotations

import pytest
from first_rung import rewrite
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


class Counter:
    def __init__(self, step):
        self.at = 0
        self.step = step
        self.seen = []

    def take(self):
        self.at = self.at + self.step
        return self.at

    def twice(self):
        self.take()
        return self.take()

    def note(self):
        self.seen.append(self.at)
        return len(self.seen)

    def peek(self):
        return self.at + self.step


def advanced(state, n):
    state["at"] = state["at"] + n
    return state["at"]


def advanced_by_another_name(state, n):
    mine = state
    mine["at"] += n
    return mine["at"]


def noted(seen):
    seen.append(1)
    return len(seen)


def first_replaced(numbers):
    numbers[0] = numbers[0] + 1
    return numbers[0]


def taken(counter):
    return counter.take()


def handed_back(state):
    return state["inner"]


def local():
    own = []
    return noted(own)


def read(state):
    return state["at"]


@nki.jit
def k(x):
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    {before}
    for t in {loop}(tiles):
        tile = nl.load(x[t])
        {body}
        nl.store(out[t], value=nl.multiply(tile, float(n)))
    return out
"""
X = {"x": TensorSpec((3, 32, 8), "float32", "normal")}

CHANGES = [
    ('state = {"at": 0}', "n = advanced(state, 3)"),
    ('state = {"at": 0}', "n = advanced_by_another_name(n=3, state=state)"),
    ('state = {"at": 0}', 'mine = state\n        mine["at"] += 3\n        n = mine["at"]'),
    ('state = {"inner": {"at": 0}}', 's = handed_back(state)\n        s["at"] += 3\n        n = s["at"]'),
    ('state = {"inner": {"at": 0}}', 's = state.get("inner")\n        s["at"] += 3\n        n = s["at"]'),
    ("seen = []", "n = noted(seen)"),
    ("numbers = [1, 2]", "n = first_replaced(numbers)"),
    ("c = Counter(2)", "n = c.take()"),
    ("c = Counter(2)", "n = c.twice()"),
    ("c = Counter(2)", "n = c.note()"),
    ("c = Counter(2)", "n = taken(c)"),
    ("c = Counter(2)", "c.at, n = c.at + 1, c.at"),
]
KEEPS = [
    ('state = {"at": 4}', "n = read(state)"),
    ("c = Counter(2)", "n = c.peek()"),
    ("c = 5", "c = Counter(2)\n        n = c.take()"),
    ("n = 1", "n = local()"),
]


def source(case, loop="nl.affine_range"):
    before, body = case
    return KERNEL.replace("{before}", before).replace("{body}", body).replace("{loop}", loop)


@pytest.mark.parametrize("case", CHANGES, ids=[body for _, body in CHANGES])
def test_an_object_that_a_call_changes_is_said(case):
    findings = rewrite(source(case)).findings
    assert any("is changed in place by a loop whose body Beta 1 traced once" in f.message for f in findings)


@pytest.mark.parametrize("case", CHANGES, ids=[body for _, body in CHANGES])
def test_not_where_both_versions_run_each_iteration(case):
    findings = rewrite(source(case, "nl.static_range")).findings
    assert not any("traced once" in f.message for f in findings)


@pytest.mark.parametrize("case", KEEPS, ids=[body for _, body in KEEPS])
def test_what_a_call_only_reads_or_makes_itself_is_rewritten(migrate, case):
    migration = migrate(source(case), X)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


TILES = """\
def filled(tile, number):
    tile[...] = nl.full(tile.shape, number, dtype=tile.dtype)
    return number


class Sum:
    def __init__(self, tile):
        self.tile = tile

    def add(self, other):
        self.tile[...] = nl.add(self.tile, other)
        return 1


@nki.jit
"""


@pytest.mark.parametrize(
    "case",
    [
        ("acc = nl.zeros((rows, columns), dtype=x.dtype)", "n = filled(acc, 2)"),
        ("s = Sum(nl.zeros((rows, columns), dtype=x.dtype))", "n = s.add(tile)"),
    ],
)
def test_a_tile_that_a_call_writes_to_is_no_such_object(case):
    findings = rewrite(source(case).replace("@nki.jit\n", TILES)).findings
    assert not any("traced once" in f.message for f in findings)


NESTED = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x):
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    scale = 2.0

    def times():
        return scale + 1.0

    def emit(t, tile):
        factor = times()
        nl.store(out[t], value=nl.multiply(tile, float(factor)))

    for t in nl.affine_range(tiles):
        tile = nl.load(x[t])
        emit(t, tile)
        scale = 7.0
    return out
"""


def test_what_a_nested_function_reads_is_restored(migrate):
    migration = migrate(NESTED, X)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "scale = scale_before_loop" in migration.outcome.source


NAMESAKES = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

LOADED = {}


class Snapshot:
    def load(self, x):
        LOADED["last"] = x


@nki.jit
def k(x):
    out = nl.ndarray((2, 16, 8), dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(2):
        nl.store(out[i], value=nl.load(x[i, 0:16, 0:8]))
    return out
"""


def test_a_function_of_a_package_is_no_method_of_its_name(migrate):
    migration = migrate(NAMESAKES, {"x": TensorSpec((2, 16, 8), "float32")})
    assert (migration.outcome.findings, migration.trouble) == ((), ())


NESTS = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x):
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    n = 1
    for t in nl.affine_range(tiles):
        for i in nl.sequential_range(2):
            for j in nl.sequential_range(2):
                n = n + 1
            nl.store(out[t], value=nl.multiply(nl.load(x[t]), float(n)))
            for j in nl.sequential_range(2):
                n = n * 2
    nl.store(out[0], value=nl.multiply(nl.load(x[0]), float(n)))
    return out
"""


def test_a_value_is_saved_once_for_loops_that_begin_with_it(migrate):
    migration = migrate(NESTS, X)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    saved = [line.strip() for line in migration.outcome.source.splitlines() if "_before_loop" in line]
    assert saved == [
        "n_before_loop = n",
        *["n = n_before_loop"] * 3,
        "n_before_loop_2 = n",
        "n = n_before_loop_2",
    ]
