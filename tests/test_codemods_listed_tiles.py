"""Python lists of tiles: rewritten where all tiles are alike and the list is only filled and read, else left."""

from __future__ import annotations

import random

import pytest
from examples import examples
from first_rung import Options, rewrite
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from nki_migrate.runtime.cases import TensorSpec
from nki_migrate.runtime.compare import Failure

HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def k(x, flag):
    out = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.load(x[0:128, 0:128])
"""
ARGS = {"x": TensorSpec((128, 256), "float32", "normal"), "flag": True}
SBUF = "nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)"
ZEROS = "nl.zeros((128, 64), dtype=nl.float32, buffer=nl.sbuf)"
PSUM = "nl.zeros((128, 64), dtype=nl.float32, buffer=nl.psum)"
LOAD = "nl.load(x[0:128, {at}:{at} + 64])"
PRODUCT = "nisa.nc_matmul(a, a[0:128, 0:64])"
TRIPLED = "for t in ts:\n    t[...] = nl.multiply(a[0:128, 0:64], n)"
STORES = "for i in nl.static_range(2):\n    nl.store(out[0:128, 64 * i:64 * i + 64], ts[i])"


def kernel(*lines: str) -> str:
    return HEAD + "".join(f"    {line}\n" for text in lines for line in text.splitlines()) + "    return out\n"


@pytest.mark.parametrize(
    "lines",
    [
        [f"ts = [{LOAD.format(at='64 * i')} for i in range(2)]", STORES],
        [f"ts = [{LOAD.format(at=0)}, nl.exp({LOAD.format(at=64)})]", STORES],
        [f"ts = [{ZEROS} for _ in range(2)]", "ts[1][...] = nl.exp(a[0:128, 0:64])", STORES],
        [f"ts = [{ZEROS}, {ZEROS}]", "ts[1][0:64, 2:4] = nl.exp(a[0:64, 0:2])", STORES],
        ["ts = []", f"for i in nl.static_range(2):\n    ts.append({LOAD.format(at='64 * i')})", STORES],
        ["ts = []", f"for i in nl.static_range(2):\n    t = {LOAD.format(at='64 * i')}\n    ts.append(t)", STORES],
        [f"b = {LOAD.format(at=0)}", f"c = {LOAD.format(at=64)}", "ts = [b, c]", STORES],
        [f"ts = [{LOAD.format(at='64 * i')} for i in range(2)]", "for t in ts:\n    t[...] = nl.exp(t)", STORES],
        [f"ts = [{PSUM} for _ in range(2)]", f"for i in nl.static_range(2):\n    ts[i][...] += {PRODUCT}", STORES],
        ["n = 2", f"ts = [{SBUF.replace('64', '64 // n * 2')} for _ in range(n)]", "n = 3", TRIPLED, STORES],
    ],
)
def test_lists_of_tiles_stay_lists(migrate, lines):
    migration = migrate(kernel(*lines), ARGS)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "ts = [" in migration.outcome.source


LISTS = f"ts = [[{ZEROS} for j in range(3)] for i in range(2)]"
FILLED = """\
for i in nl.static_range(2):
    for j in nl.static_range(3):
        ts[i][j][...] = nl.multiply(a[0:128, 0:64], i + j)"""
LAST = "for i in nl.static_range(2):\n    nl.store(out[0:128, 64 * i:64 * i + 64], ts[i][-1])"


@pytest.mark.parametrize(
    "lines",
    [
        [LISTS, FILLED, LAST],
        [LISTS, FILLED.replace("static_range(2)", "static_range(len(ts))"), LAST],
        [LISTS.replace("for j", "for i"), FILLED, LAST],
        [f"ts = [[{LOAD.format(at='64 * i + j')} for j in range(3)] for i in range(2)]", LAST],
        [f"ts = [[[{ZEROS} for k in range(1)] for j in range(3)] for i in range(2)]", LAST.replace("[-1]", "[-1][0]")],
        [LISTS.replace(ZEROS, PSUM), f"for j in nl.static_range(3):\n    ts[1][j][...] += {PRODUCT}", LAST],
    ],
)
def test_lists_of_lists_of_tiles_stay_lists(migrate, lines):
    migration = migrate(kernel(*lines), ARGS)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


ROW = f"[{ZEROS} for j in range(3)]"
LEFT = [
    ([f"ts = [{ROW} for i in range(2)]", "r = ts[0]", LAST.replace("ts[i]", "r")], "is changed or handed on"),
    (
        [f"ts = [{ROW} for i in range(2)]", "for r in ts:\n    r[0][...] = nl.exp(r[1])", LAST],
        "is changed or handed on",
    ),
    ([f"ts = [{ROW} for i in range(2)]", "ts[0].reverse()", LAST], "is changed or handed on"),
    ([f"ts = [{ROW.replace('3', 'i + 1')} for i in range(2)]", LAST], "a list of lists of several lengths"),
    ([f"ts = [{ROW.replace('64)', 'j + 1)')} for i in range(2)]", LAST], "tiles whose sizes depend on 'j'"),
    ([f"ts = [{LOAD.format(at=0)}, nl.load(x[0:128, 0:32])]", STORES], "tiles of different shapes"),
    ([f"ts = [{SBUF}, {PSUM}]", STORES], "tiles of different shapes, types or memories"),
    ([f"ts = [{ZEROS}, 2.0]", STORES], "'ts' holds tiles, and something else"),
    ([f"ts = [{ZEROS} for _ in range(2)]", "ts[0] = nl.exp(ts[1])", STORES], "is changed or handed on"),
    ([f"ts = [{ZEROS} for _ in range(2)]", "ts.reverse()", STORES], "is changed or handed on"),
    (["ts = []", "for i in nl.static_range(2):\n    ts.append(nl.load(x[0:128, 0:i + 1]))", STORES], "depend on 'i'"),
    (["b = nl.exp(a)", "ts = []", "ts.append(b)", "b += 1.0", STORES], "'b' is used beside the list that holds it"),
    (["ts = [nl.ndarray((2, nl.par_dim(128), 64), dtype=nl.float32) for _ in range(2)]"], "with block dimensions"),
    (["ts = [nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.hbm) for _ in range(2)]"], "that are in HBM"),
    (
        [f"ts = [{PSUM} for _ in range(2)]", f"for i in nl.static_range(4):\n    ts[i % 2][...] = {PRODUCT}", STORES],
        "may be overwritten by a matmul again",
    ),
    (
        [f"ts = [{PSUM}]", "for t in ts:\n    t[...] = nl.exp(a[0:128, 0:64])", f"ts[0][...] += {PRODUCT}", STORES],
        "accumulated onto values that no matmul wrote",
    ),
]


@pytest.mark.parametrize("lines, message", LEFT)
def test_other_lists_are_left_with_a_finding(lines, message):
    findings = rewrite(kernel(*lines), Options(unsafe=True)).findings
    assert any(message in finding.message for finding in findings)


def test_names_of_tiles_in_a_list_that_is_handed_on_stay_as_they_are():
    lines = ["b = nl.exp(a)", "c = nl.exp(b)", "ts = [b, c]", "print(ts)", "nl.store(out[0:128, 0:128], c)"]
    outcome = rewrite(kernel(*lines), Options(unsafe=True))
    assert "    ts = [b, c]\n" in outcome.source
    assert not any("list" in finding.message for finding in outcome.findings)


class Program:
    """A kernel that makes lists of tiles in SBUF and PSUM, and writes, accumulates, aliases and reads their tiles."""

    def __init__(self, chosen: random.Random) -> None:
        self.chosen, self.count = chosen, 0
        self.lists: dict[str, int] = {}
        self.rows: dict[str, int] = {}  # the lists of lists, and how many each has
        self.psum: set[str] = set()
        self.loops: list[str] = []
        lines = [*self.made(), *self.made(), *self.block(2)]
        self.lines = [*lines, *(line for name in self.lists for line in self.stored(name))]

    def made(self) -> list[str]:
        self.count += 1
        name, size = f"l{self.count}", self.chosen.choice([1, 2, 3])
        makes = self.chosen.choice([SBUF, ZEROS, PSUM, PSUM, "nl.full((128, 64), 2.0, dtype=nl.float32)", LOAD])
        if makes is PSUM:
            self.psum.add(name)
        self.lists[name] = size
        variable = f"e{self.count}"
        element = makes.format(at=f"{self.chosen.choice(['8', '32'])} * {variable}")
        form = self.chosen.randrange(5 if makes is not SBUF else 4)
        if form == 4:
            self.rows[name] = self.chosen.choice([1, 2])
            inner = f"[{element} for {variable} in {self.chosen.choice(['range', 'nl.static_range'])}({size})]"
            return [f"{name} = [{inner} for {self.chosen.choice(['_', variable, 'row'])} in range({self.rows[name]})]"]
        if form == 0:
            filled = [f"{name} = [{element} for {variable} in range({size})]"]
        elif form == 1:
            filled = [f"{name} = [{', '.join(makes.format(at=16 * at) for at in range(size))}]"]
        elif form == 2:
            filled = [f"{name} = []", f"for {variable} in nl.static_range({size}):", f"    {name}.append({element})"]
        else:
            body = [f"    t{self.count} = {element}", f"    {name}.append(t{self.count})"]
            filled = [f"{name} = []", f"for {variable} in nl.static_range({size}):", *body]
        if makes is SBUF:
            filled += [f"for {variable}, w{self.count} in enumerate({name}):"]
            filled += [f"    w{self.count}[...] = nl.multiply(a[0:128, 0:64], {variable} + 1)"]
        return filled

    def block(self, depth: int) -> list[str]:
        return [line for _ in range(self.chosen.randint(2, 5)) for line in self.statement(depth)]

    def statement(self, depth: int) -> list[str]:
        kinds = [self.write, self.write, self.accumulate, self.part, self.alias, self.each]
        return self.chosen.choice([*kinds, self.loop, self.branch] if depth else kinds)(depth)

    def tile(self, of: set[str] | None = None) -> str:
        name = self.chosen.choice(sorted(of if of else self.lists))
        size = self.lists[name]
        inside = [v for v in self.loops if int(v.rpartition("_")[2]) <= size]
        row = f"[{self.chosen.choice([*map(str, range(self.rows[name])), '-1'])}]" if name in self.rows else ""
        return f"{name}{row}[{self.chosen.choice([str(self.chosen.randrange(size)), '-1', *inside, *inside])}]"

    def write(self, depth: int) -> list[str]:
        function = self.chosen.choice(["exp", "tanh", "negative"])
        value = self.chosen.choice([f"nl.{function}({self.tile()})", f"nl.add({self.tile()}, {self.tile()})"])
        return [f"{self.tile()}[...] = {value}"]

    def accumulate(self, depth: int) -> list[str]:
        operator = self.chosen.choice(["+=", "+=", "="])
        return [f"{self.tile(self.psum)}[...] {operator} {PRODUCT}"] if self.psum else self.write(depth)

    def part(self, depth: int) -> list[str]:
        return [f"{self.tile()}[0:64, 8:16] = nl.multiply({self.tile()}[0:64, 0:8], 0.5)"]

    def alias(self, depth: int) -> list[str]:
        self.count += 1
        name = f"n{self.count}"
        use = self.chosen.choice([f"{name}[...] = nl.multiply({name}, 0.5)", f"{name} += 1.0"])
        return [f"{name} = {self.tile()}", use, f"{self.tile()}[...] = nl.add({name}, 1.0)"]

    def each(self, depth: int) -> list[str]:
        flat = sorted(self.lists.keys() - self.rows.keys())
        if not flat:
            return self.write(depth)
        name, other = self.chosen.choice(flat), self.tile()
        return [f"for each in {name}:", f"    each[...] = nl.maximum(each, {other})"]

    def loop(self, depth: int) -> list[str]:
        self.count += 1
        variable = f"i{self.count}_{self.chosen.choice([1, 2, 3])}"
        kind = self.chosen.choice(["nl.static_range", "range"])
        self.loops.append(variable)
        lines = [f"for {variable} in {kind}({variable[-1]}):", *(f"    {line}" for line in self.block(depth - 1))]
        self.loops.pop()
        return lines

    def branch(self, depth: int) -> list[str]:
        return ["if flag:", *(f"    {line}" for line in self.block(depth - 1))]

    def stored(self, name: str) -> list[str]:
        at = 192 * (list(self.lists).index(name) % 2)
        row = "[-1]" if name in self.rows else ""
        return [
            f"nl.store(out[0:128, {at + 64 * i}:{at + 64 * i + 64}], {name}{row}[{i}])" for i in range(self.lists[name])
        ]


@pytest.mark.random
@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(chosen=st.randoms(use_true_random=False), flag=st.booleans())
def test_lists_are_rewritten_and_equal_or_have_a_finding(migrate, chosen, flag):
    source = kernel(*Program(chosen).lines)
    note(source)
    migration = migrate(source, {**ARGS, "flag": flag})
    if isinstance(migration.before, Failure) or migration.outcome.findings:
        return
    assert (migration.objection, migration.trouble) == (None, ())


def test_most_of_the_programs_are_rewritten():
    """So that the property above does not hold because nothing is rewritten."""
    sources = [kernel(*Program(random.Random(seed)).lines) for seed in range(40)]
    assert sum(rewrite(source, Options(unsafe=True)).findings == () for source in sources) >= 10
