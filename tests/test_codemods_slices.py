"""Index vectors and the slices that replace them walk the same elements.

Random affine subscripts over ``nl.arange`` and ``nl.mgrid`` are evaluated by NumPy, run on the emulator as they are,
and run again as the codemods write them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from examples import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nki_migrate.runtime.cases import TensorSpec
from nki_migrate.runtime.compare import Run
from nki_migrate.runtime.spec.instructions import start_partitions

ROWS, COLUMNS, PLANES = 160, 96, 3
ARGS = {"x": TensorSpec((PLANES, ROWS, COLUMNS), "float32", "arange"), "n": 4}
X = np.arange(PLANES * ROWS * COLUMNS, dtype=np.float32).reshape(PLANES, ROWS, COLUMNS)
HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x, n):
    two = 2
    plane = 1
    rows = x.shape[1]
"""
NAMES = {"two": 2, "n": 4, "plane": 1, "rows": ROWS}
NUMBERS = {0: ("0", "two - 2"), 1: ("1", "plane", "n - 3"), 2: ("2", "two"), 4: ("4", "n", "two * 2")}
LARGER = {8: ("8", "two * n", "n + n"), 16: ("16", "n * 4"), 32: ("32", "8 * n"), 160: ("rows", "160")}


def spelled(number: int) -> st.SearchStrategy[str]:
    return st.sampled_from((NUMBERS | LARGER).get(number, (str(number),)))


@dataclass(frozen=True)
class Vector:
    """One index of a subscript: the statements that make it, its source, and what NumPy says that it is."""

    statements: tuple[str, ...]
    source: str
    values: np.ndarray


@st.composite
def vectors(draw: st.DrawFn, name: str, position: int, limit: int, largest: int) -> Vector:
    size = draw(st.sampled_from([s for s in (1, 2, 5, 16, 32) if s <= largest]))
    start = draw(st.sampled_from((0, 0, 1, 2, 8)))
    offset = draw(st.sampled_from([o for o in (0, 0, 1, 2, 4, 16) if o + start + size <= limit]))
    shape = "[:, None]" if position == 0 else "[None, :]"
    if start:
        made = f"nl.arange({draw(spelled(start))}, {start + size}){shape}"
    else:
        made = f"nl.arange({draw(spelled(size))}){shape}"
    text = draw(spelled(offset))
    form = draw(st.sampled_from(("{v} + {o}", "{o} + {v}", "({v} + {o})", "{o} + {v} * 1", "{v} - (0 - ({o}))")))
    values = np.arange(start, start + size) + offset
    if not offset and draw(st.booleans()):
        form = "{v}"
    if draw(st.booleans()):
        return Vector((f"{name} = {made}",), form.format(v=name, o=text), values)
    return Vector((f"{name}_0 = {made}", f"{name} = {form.format(v=f'{name}_0', o=text)}"), name, values)


@st.composite
def grids(draw: st.DrawFn) -> tuple[Vector, Vector]:
    height, width = draw(st.sampled_from((1, 4, 32))), draw(st.sampled_from((1, 8, 32)))
    down, right = draw(st.sampled_from((0, 2, 16))), draw(st.sampled_from((0, 4)))
    unpacked = draw(st.booleans())
    made = f"nl.mgrid[0:{draw(spelled(height))}, 0:{draw(spelled(width))}]"
    statement = f"i_p, i_f = {made}" if unpacked else f"grid = {made}"
    p, f = ("i_p", "i_f") if unpacked else ("grid.p", "grid.x")
    return (
        Vector((statement,), f"{p} + {draw(spelled(down))}" if down else p, np.arange(height) + down),
        Vector((), f"{draw(spelled(right))} + {f}" if right else f, np.arange(width) + right),
    )


PAIRS = st.one_of(st.tuples(vectors("i_p", 0, ROWS, 32), vectors("i_f", 1, COLUMNS, 32)), grids())


def kernel(pair: tuple[Vector, Vector], load: str, store: str) -> str:
    height, width = len(pair[0].values), len(pair[1].values)
    body = [statement for vector in pair for statement in vector.statements]
    body += [
        "out = nl.ndarray((160, 96), dtype=x.dtype, buffer=nl.shared_hbm)",
        "zeros = nl.zeros((80, 96), dtype=x.dtype, buffer=nl.sbuf)",
        "nl.store(out[0:80, 0:96], zeros)",
        "nl.store(out[80:160, 0:96], zeros)",
        f"j_p = nl.arange({height})[:, None]",
        f"j_f = nl.arange({width})[None, :]",
        load,
        store,
        "return out",
    ]
    return HEAD + "".join(f"    {line}\n" for line in body)


def outputs(run: Run) -> list[np.ndarray]:
    return [packed.array() for packed in run.outputs]


def check(migrate, source: str, expected: np.ndarray) -> None:
    migration = migrate(source, ARGS)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    for run in (migration.before, migration.after):
        np.testing.assert_array_equal(outputs(run)[0], expected)
    for name in ("arange", "mgrid"):
        assert name not in migration.outcome.source


def engines_reach(rows: np.ndarray) -> bool:
    """May an access of a compute engine start there? Beta 1's compiler moves what may not, Beta 2 refuses it."""
    return max(rows) < 128 and rows[0] in start_partitions(rows[-1] - rows[0] + 1)


EXAMPLES = settings(max_examples=examples(10), deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.random
@EXAMPLES
@given(PAIRS, st.sampled_from(("plane", "1", "two", "n - 4")))
def test_a_load_takes_the_elements_that_numpy_takes(migrate, pair, plane):
    rows, columns = (vector.values for vector in pair)
    load = f"t = nl.load(x[{plane}, {pair[0].source}, {pair[1].source}])"
    expected = np.zeros((ROWS, COLUMNS), np.float32)
    expected[: len(rows), : len(columns)] = X[eval(plane, {}, NAMES)][np.ix_(rows, columns)]
    check(migrate, kernel(pair, load, "nl.store(out[j_p, j_f], t)"), expected)


@pytest.mark.random
@EXAMPLES
@given(PAIRS)
def test_a_store_writes_the_elements_that_numpy_writes(migrate, pair):
    rows, columns = (vector.values for vector in pair)
    store = f"nl.store(out[{pair[0].source}, {pair[1].source}], value=t)"
    expected = np.zeros((ROWS, COLUMNS), np.float32)
    expected[np.ix_(rows, columns)] = X[0, : len(rows), : len(columns)]
    check(migrate, kernel(pair, "t = nl.load(x[0, j_p, j_f])", store), expected)


@pytest.mark.random
@EXAMPLES
@given(PAIRS.filter(lambda pair: engines_reach(pair[0].values)))
def test_a_part_of_a_tile_is_the_part_that_numpy_takes(migrate, pair):
    rows, columns = (vector.values for vector in pair)
    part = f"t[{pair[0].source}, {pair[1].source}]"
    load = f"t = nl.load(x[0, 0:128, 0:96])\n    {part} = nl.add({part}, 1.0)"
    expected = np.zeros((ROWS, COLUMNS), np.float32)
    expected[:128] = X[0, :128]
    expected[np.ix_(rows, columns)] += 1
    check(migrate, kernel(pair, load, "nl.store(out[0:128, 0:96], t)"), expected)


@pytest.mark.random
@EXAMPLES
@given(
    st.sampled_from((1, 2, 3)),
    st.sampled_from((4, 16, 32)),
    st.sampled_from(("affine_range", "sequential_range", "static_range")),
    st.sampled_from(("b * {r} + i_p", "i_p + b * {r}", "i_p + {r} * b", "{r} * b + i_p", "(b * {r}) + i_p")),
    st.sampled_from(("i_f", "i_f + b", "b + i_f", "i_f + b * two", "two * b + i_f + 1")),
)
def test_tiles_of_a_loop_are_those_of_numpy(migrate, count, size, loop, down, right):
    body = [
        "out = nl.ndarray((160, 96), dtype=x.dtype, buffer=nl.shared_hbm)",
        "zeros = nl.zeros((80, 96), dtype=x.dtype, buffer=nl.sbuf)",
        "nl.store(out[0:80, 0:96], zeros)",
        "nl.store(out[80:160, 0:96], zeros)",
        f"i_p = nl.arange({size})[:, None]",
        "i_f = nl.arange(16)[None, :]",
        f"for b in nl.{loop}({count}):",
        f"    t = nl.load(x[b, {down.format(r=size)}, {right}])",
        f"    nl.store(out[{down.format(r=size)}, {right}], t)",
        "return out",
    ]
    expected = np.zeros((ROWS, COLUMNS), np.float32)
    for b in range(count):
        where = np.ix_(np.arange(size) + b * size, eval(right, {}, {"i_f": np.arange(16), "b": b, "two": 2}))
        expected[where] = X[b][where]
    check(migrate, HEAD + "".join(f"    {line}\n" for line in body), expected)


@pytest.mark.random
@EXAMPLES
@given(st.sampled_from((2, 3)), st.sampled_from((1, 2)), st.booleans(), st.sampled_from(("x", "t")))
def test_a_strided_subscript_is_right_or_reported(migrate, step, start, on_rows, tensor):
    """A stride is written as an access pattern or left; it never comes out as a slice that lost its stride."""
    rows, columns = ("i_p * {s} + {o}", "i_f") if on_rows else ("i_p", "{o} + {s} * i_f")
    part = f"{rows}, {columns}".format(s=step, o=start)
    source = {"x": f"t = nl.load(x[0, {part}])", "t": f"u = nl.load(x[0, 0:128, 0:96])\n    t = nl.copy(u[{part}])"}
    body = [
        "i_p = nl.arange(32)[:, None]",
        "i_f = nl.arange(16)[None, :]",
        "out = nl.ndarray((32, 16), dtype=x.dtype, buffer=nl.shared_hbm)",
        source[tensor],
        "nl.store(out[i_p, i_f], t)",
        "return out",
    ]
    migration = migrate(HEAD + "".join(f"    {line}\n" for line in body), ARGS)
    assert migration.outcome.findings or migration.trouble == ()


def test_a_grid_as_a_subscript_is_a_subscript_of_its_components(migrate):
    source = HEAD + """\
    out = nl.ndarray((2, 32, 8), dtype=x.dtype, buffer=nl.shared_hbm)
    grid = nl.mgrid[0:32, 0:8]
    tile = nl.ndarray((32, 16), dtype=x.dtype, buffer=nl.sbuf)
    tile[grid] = nl.load(x[plane, grid.p, n + grid.x])
    nl.store(out[0][grid], value=nl.exp(tile[grid]))
    tile[nl.mgrid[0:32, 0:16]] = nl.load(x[plane, 0:32, 0:16])
    nl.store(out[1], value=tile[grid])
    return out
"""
    migration = migrate(source, ARGS)
    assert migration.outcome.findings == () and migration.trouble == ()
