"""Addresses: the kernel that the codemods write puts every block where the published formula of ``mod_alloc`` says.

The formula stands here a third time, as the direct allocation guide words it (``reference/beta1.md`` 3.8); random
declarations, spelled with numbers, names and expressions, are rewritten and run, and every tile's address is read back.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import pytest
from examples import examples
from first_rung import Options, rewrite
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nki_migrate.runtime.cases import TensorSpec
from nki_migrate.runtime.compare import Run

LIST = Options(blocks="list")
ARGS = {"x": TensorSpec((128, 8), "float32"), "rows": 64, "cols": 8, "two": 2}
ITEMSIZE = {"nl.float32": 4, "nl.bfloat16": 2, "nl.int8": 1, "np.float32": 4, "x.dtype": 4, "wide": 4}
HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.language as nl
import numpy as np

four = 4


@nki.jit
def k(x, rows, cols, two):
    wide = nl.float32
    size = cols * two
    out = nl.ndarray((128, 8), dtype=x.dtype, buffer=nl.shared_hbm)
    io = nl.ndarray((nl.par_dim(128), 8), dtype=nl.float32, buffer=ncc.sbuf.mod_alloc(base_addr=65536))
"""
TAIL = """\
    io[...] = nl.load(x)
    nl.store(out, io)
    return out
"""
VALUES = {"rows": 64, "cols": 8, "two": 2, "four": 4, "size": 16, "math": math}
SPELLINGS: dict[int, tuple[str, ...]] = {
    1: ("1", "two // 2", "two - 1"),
    2: ("2", "two", "four // two", "(cols + 1) // four"),
    3: ("3", "four - 1", "1 + two"),
    4: ("4", "four", "two * two", "cols // 2", "cols - four"),
    5: ("5", "four + 1"),
    8: ("8", "cols", "x.shape[1]", "two * four"),
    16: ("16", "size", "cols * 2", "rows // 4"),
    32: ("32", "rows // 2", "size * two"),
    64: ("64", "rows", "x.shape[0] // 2"),
    128: ("128", "rows * 2", "x.shape[0]"),
}


def spelled(value: int) -> st.SearchStrategy[str]:
    return st.sampled_from(SPELLINGS.get(value, (str(value),)))


@dataclass(frozen=True)
class Tensor:
    """One declaration: the numbers, and the source that says them."""

    space: str
    blocks: tuple[int, ...]
    rows: int
    row_bytes: int
    base: int
    tiles: dict[str, tuple[int, ...]]
    source: str

    def address(self, index: tuple[int, ...]) -> tuple[int, int]:
        """Start partition and byte of one block, as the guide computes them."""
        partition = self.rows * tile(self.tiles.get("num_par_tiles", ()), index)
        byte = self.row_bytes * tile(self.tiles.get("num_free_tiles", ()), index)
        if self.space == "sbuf":
            return partition, self.base + byte
        return partition, 2048 * (self.base + tile(self.tiles.get("num_bank_tiles", ()), index)) + byte


def tile(counts: tuple[int, ...], index: tuple[int, ...]) -> int:
    """Which physical tile a block gets: its index modulo the counts, counted row by row."""
    return sum((i % n) * math.prod(counts[d + 1 :]) for d, (i, n) in enumerate(zip(index, counts, strict=False)))


@st.composite
def tensors(draw: st.DrawFn, name: str) -> Tensor:
    space = draw(st.sampled_from(("sbuf", "sbuf", "psum")))
    rank = draw(st.integers(0, 3))
    blocks = tuple(draw(st.lists(st.sampled_from((1, 2, 3, 4)), min_size=rank, max_size=rank)))
    rows = draw(st.sampled_from((32, 64, 128)))
    free = draw(st.lists(st.sampled_from((1, 4, 5, 8, 16)), min_size=1, max_size=2))
    dtype = draw(st.sampled_from(sorted(ITEMSIZE)))
    tiles: dict[str, tuple[int, ...]] = {}
    count = draw(st.integers(rank, rank + 1)) if rank else draw(st.integers(0, 1))
    if space == "sbuf" and draw(st.booleans()):
        tiles["num_free_tiles"] = tuple(draw(st.lists(st.sampled_from((1, 2, 3, 4)), min_size=count, max_size=count)))
    if space == "psum" and draw(st.booleans()):
        counts = tuple(draw(st.lists(st.sampled_from((1, 2)), min_size=rank, max_size=rank)))
        tiles["num_bank_tiles"] = counts
    base = draw(st.sampled_from((0, 64, 1024))) if space == "sbuf" else draw(st.integers(0, 8 - 2**rank if rank else 7))
    base = max(base, 0)

    def tuple_of(values: tuple[int, ...]) -> str:
        return f"({', '.join(draw(spelled(v)) for v in values)}{',' if len(values) == 1 else ''})"

    shape = [draw(spelled(b)) for b in blocks] + [f"nl.par_dim({draw(spelled(rows))})"]
    shape += [draw(spelled(f)) for f in free]
    keyword = "base_addr" if space == "sbuf" else "base_bank"
    given_ = [f"{keyword}={draw(spelled(base))}"] + [f"{k}={tuple_of(v)}" for k, v in tiles.items()]
    allocator = f"ncc.{space}.mod_alloc({', '.join(draw(st.permutations(given_)))})"
    source = f"    {name} = nl.ndarray(({', '.join(shape)}), dtype={dtype}, buffer={allocator})\n"
    return Tensor(space, blocks, rows, math.prod(free) * ITEMSIZE[dtype], base, tiles, source)


def addresses(run: Run) -> dict[tuple[str, tuple[int, ...]], tuple[int | None, int | None]]:
    return {(row.tensor, row.block): (row.partition, row.byte) for p in run.programs for row in p.tiles}


def expected(declared: dict[str, Tensor]) -> dict[tuple[str, tuple[int, ...]], tuple[int, int]]:
    found = {}
    for name, tensor in declared.items():
        for index in itertools.product(*(range(b) for b in tensor.blocks)):
            found[name, index] = tensor.address(index)
    return found


@pytest.mark.parametrize("spelling", [s for spellings in SPELLINGS.values() for s in spellings])
def test_the_spellings_mean_their_numbers(spelling):
    values = {**VALUES, "x": type("x", (), {"shape": (128, 8)})}
    assert [n for n, spellings in SPELLINGS.items() if spelling in spellings] == [eval(spelling, {}, values)]


@pytest.mark.random
@settings(max_examples=examples(10), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.tuples(*(tensors(name) for name in ("alpha", "beta", "gamma"))))
def test_every_block_lies_where_the_formula_says(migrate, declared):
    named = dict(zip(("alpha", "beta", "gamma"), declared, strict=True))
    source = HEAD + "".join(tensor.source for tensor in declared) + TAIL
    migration = migrate(source, ARGS, LIST)
    assert migration.trouble == ()
    assert migration.outcome.findings == () and migration.objection is None
    formula = expected(named) | {("io", ()): (0, 65536)}
    assert addresses(migration.before) == formula
    assert addresses(migration.after) == formula


@pytest.mark.random
@settings(max_examples=examples(5), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from((1, 2, 3)), min_size=1, max_size=2), st.sampled_from((32, 64)), st.sampled_from((4, 8)))
def test_partition_tiles_follow_the_formula(migrate, blocks, rows, columns):
    counts = tuple(2 if d == len(blocks) - 1 else 1 for d in range(len(blocks)))
    shape = ", ".join([*(SPELLINGS[b][-1] for b in blocks), f"nl.par_dim({rows})", str(columns)])
    allocator = f"ncc.sbuf.mod_alloc(base_addr=16, num_par_tiles={counts!r})"
    source = f"{HEAD}    t = nl.ndarray(({shape}), dtype=nl.float32, buffer={allocator})\n{TAIL}"
    migration = migrate(source, ARGS, LIST)
    assert migration.trouble == () and migration.outcome.findings == ()
    tensor = Tensor("sbuf", tuple(blocks), rows, columns * 4, 16, {"num_par_tiles": counts}, "")
    assert addresses(migration.after) == expected({"t": tensor}) | {("io", ()): (0, 65536)}


@pytest.mark.random
@settings(max_examples=examples(7), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.tuples(st.sampled_from((1, 2, 3)), st.sampled_from((4, 8)), st.booleans()), min_size=1, max_size=4),
    st.sampled_from(("{a} += {s}", "{a} = {a} + {s}", "{a} = {s} + {a}")),
    st.sampled_from(("nl.affine_range", "nl.sequential_range", "range")),
    st.integers(1, 3),
)
def test_a_running_address_advances_once_whatever_the_trip_count(migrate, steps, advance, loop, trips):
    """Declarations before, in and after a loop, each at a counter that advances behind it."""
    lines, after, address = ["    at = 0\n"], 0, {}
    inside = False
    for number, (blocks, columns, in_loop) in enumerate(steps):
        if in_loop and not inside:
            lines.append(f"    for i in {loop}({trips}):\n")
        inside = in_loop
        indent = "        " if in_loop else "    "
        size = blocks * columns * 4
        lines.append(
            f"{indent}t{number} = nl.ndarray(({blocks}, nl.par_dim(128), {columns}), dtype=nl.float32,\n"
            f"{indent}                buffer=ncc.sbuf.mod_alloc(base_addr=at, num_free_tiles=({blocks},)))\n"
        )
        lines.append(indent + advance.format(a="at", s=f"{blocks} * {columns} * 4") + "\n")
        for block in range(blocks):
            address[f"t{number}", (block,)] = (0, after + block * columns * 4)
        after += size
    migration = migrate(HEAD + "".join(lines) + TAIL, ARGS, LIST)
    assert migration.trouble == () and migration.outcome.findings == ()
    assert addresses(migration.after) == address | {("io", ()): (0, 65536)}


@pytest.mark.parametrize("style", ["list", "fold", "loop"])
@pytest.mark.parametrize(("blocks", "columns"), [(2, 4), (3, 2)])
def test_another_shape_of_the_blocks_has_the_same_addresses(migrate, blocks, columns, style):
    allocator = f"ncc.sbuf.mod_alloc(base_addr=64, num_free_tiles=({blocks},))"
    source = (
        f"{HEAD}    t = nl.ndarray(({blocks}, nl.par_dim(128), {columns}), dtype=nl.float32, buffer={allocator})\n"
        f"    for i in nl.affine_range({blocks}):\n"
        f"        t[i, 0:128, 0:{columns}] = nl.load(x[0:128, 0:{columns}])\n{TAIL}"
    )
    migration = migrate(source, ARGS, Options(blocks=style))
    assert migration.trouble == () and migration.outcome.findings == ()


BLOCKS_OF_A_LOOP = """\
import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.language as nl
from neuronxcc.nki.language import par_dim


@nki.jit
def k(x):
    n, p, f = x.shape
    out = nl.ndarray((n, p, f), dtype=x.dtype, buffer=nl.shared_hbm)
    buffer = ncc.sbuf.mod_alloc(base_addr=32, num_free_tiles=(3,))
    t = nl.ndarray((n + 3, par_dim(p), f), dtype=nl.float32, buffer=buffer)
    for i in nl.static_range(2, n + 2):
        t[i] = nl.load(x[i - 2])
        nl.store(out[i - 2], value=t[i])
    return out
"""


def test_blocks_of_a_loop_that_does_not_count_from_zero_stay_where_they_were(migrate):
    migration = migrate(BLOCKS_OF_A_LOOP, {"x": TensorSpec((3, 32, 5), "float32", "normal")})
    assert migration.outcome.findings == () and migration.trouble == ()
    assert migration.outcome.decisions[0].choice == "fold"
    assert "(p, 3, f)" in migration.outcome.source and "address=(0, 32)" in migration.outcome.source


def test_pinned_blocks_that_a_loop_does_not_reach_stay(migrate):
    source = BLOCKS_OF_A_LOOP.replace("static_range(2, n + 2)", "static_range(n)").replace("[i - 2]", "[i]")
    migration = migrate(source, {"x": TensorSpec((1, 32, 5), "float32", "normal")})
    assert migration.outcome.findings == () and migration.trouble == ()
    assert migration.outcome.decisions[0].choice == "fold"
    assert "(p, 3, f)" in migration.outcome.source and "address=(0, 32)" in migration.outcome.source


CHANGING = """\
import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.language as nl


class Place:
    def __init__(self, byte):
        self.byte = byte

    def skip(self, n):
        self.byte = self.byte + n


@nki.jit
def k(x):
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    base, order, place, at = 64, [3, 0, 1], Place(64), {"a": 64}

    def by_order(idx, pdim_size, fdim_size):
        return (0, base + order[idx[0]] * fdim_size)

    a = nl.ndarray((tiles, nl.par_dim(rows), columns), dtype=x.dtype, buffer=BUFFER)
    CHANGE
    for t in nl.affine_range(tiles):
        a[t] = nl.load(x[t])
        nl.store(out[t], value=a[t])
    return out
"""


@pytest.mark.parametrize(
    ("buffer", "change"),
    [
        ("ncc.sbuf.alloc(by_order)", "base = 4096"),
        ("ncc.sbuf.alloc(by_order)", "order[0] = 6"),
        ('ncc.sbuf.mod_alloc(base_addr=at["a"], num_free_tiles=(2,))', 'at["a"] = 4096'),
        ("ncc.sbuf.mod_alloc(base_addr=place.byte, num_free_tiles=(2,))", "place.skip(4096)"),
    ],
)
def test_a_declaration_does_not_move_behind_a_change_of_its_address(migrate, buffer, change):
    source = CHANGING.replace("BUFFER", buffer).replace("CHANGE", change)
    migration = migrate(source, {"x": TensorSpec((3, 32, 8), "float32", "normal")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


TABLE = """\
import functools
import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


def bank_of(bank_map, idx, pdim_size, fdim_size):
    return (bank_map[idx], 0, 0)
"""
TABLED = """

@nki.jit
def {name}(a, b):
    out = nl.ndarray((4, 128, 128), dtype=nl.float32, buffer=nl.shared_hbm)
    product = nl.ndarray(({blocks}, nl.par_dim(128), 128), dtype=nl.float32, buffer=ncc.psum.alloc(
        functools.partial(bank_of, bank_map={{{table}}})))
    for i in nl.affine_range(2):
        for j in nl.affine_range(2):
            product[{index}] = nisa.nc_matmul(nl.load(a[0:128, 0:128]), nl.load(b[0:128, 0:128]))
            nl.store(out[2 * i + j], value=nl.copy(product[{index}]))
    return out
"""
PAIRS = {"blocks": "2, 2", "table": "(0, 0): 1, (0, 1): 6, (1, 0): 3, (1, 1): 4", "index": "i, j"}
SINGLE = {"blocks": "4", "table": "(0,): 1, (1,): 6, (2,): 3, (3,): 4", "index": "2 * i + j"}


def test_a_table_of_banks_in_a_function_of_two_kernels_is_read_by_position():
    source = TABLE + TABLED.format(name="one", **PAIRS) + TABLED.format(name="two", **PAIRS)
    outcome = rewrite(source)
    assert outcome.findings == () and "return (bank_map[idx[0]][idx[1]], 0, 0)" in outcome.source


def test_a_table_of_banks_whose_keys_are_of_several_lengths_is_left():
    source = TABLE + TABLED.format(name="one", **PAIRS) + TABLED.format(name="two", **SINGLE)
    outcome = rewrite(source)
    assert any("keys of several lengths" in finding.message for finding in outcome.findings)
    assert "bank_map[idx[0]][idx[1]]" in outcome.source and "bank_map=((1, 6), (3, 4))" in outcome.source
