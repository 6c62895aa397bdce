"""Random kernels that overwrite, accumulate and change PSUM tiles: rewritten and equal, or with a finding.

Beta 2 decides by itself whether a matmul overwrites: the first one into a fresh tile does. So each order of matmuls and
other writes matters: in branches, in passes of loops, through helpers, by blocks and slices.
"""

from __future__ import annotations

import random

import pytest
from examples import examples
from first_rung import Options, rewrite
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from nki_migrate.runtime.cases import TensorSpec
from nki_migrate.runtime.compare import Failure

IMPORTS = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


"""
HEAD = """\
@nki.jit
def k(x, flag, n):
    out = nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.load(x[0:64, 0:64])
"""
HELPERS = {
    "added": """\
def added(p, a):
    p[...] += nisa.nc_matmul(a, a)
""",
    "halved": """\
def halved(p, a):
    p[...] = nl.multiply(p, 0.5)
""",
    "either": """\
def either(p, a, first):
    if first:
        p[...] = nl.multiply(a, 0.5)
    else:
        p[...] += nisa.nc_matmul(a, a)
""",
}
ARGS = {"x": TensorSpec((64, 64), "float32", "normal"), "n": 2}
PRODUCT = "nisa.nc_matmul(a, a)"


def kernel(*lines: str) -> str:
    body = "".join(f"    {line}\n" for text in lines for line in text.splitlines())
    helpers = "".join(f"{text}\n\n" for name, text in HELPERS.items() if f"{name}(" in body)
    return IMPORTS + helpers + HEAD + body + "    return out\n"


FAULTS = {
    "the write of one pass stands before the matmul of the next": """\
p = nl.zeros((4, nl.par_dim(64), 64), dtype=nl.float32, buffer=nl.psum)
for i in nl.static_range(2):
    p[i] += nisa.nc_matmul(a, a)
    p[1, 0:32, 8:16] = nl.multiply(a[0:32, 0:8], 0.5)""",
    "each pass takes another side": """\
p = nl.zeros((64, 64), dtype=nl.float32, buffer=nl.psum)
for i in nl.static_range(2):
    if i == 1:
        p += nisa.nc_matmul(a, a)
    else:
        p[...] = nl.multiply(a, 0.5)""",
    "the two sides write each other's block": """\
p = nl.zeros((4, nl.par_dim(64), 64), dtype=nl.float32, buffer=nl.psum)
for i in nl.static_range(3):
    if i == 0:
        p[i] = nisa.nc_matmul(a, a)
    else:
        p[i - 1] = nisa.nc_matmul(a, a)""",
    "two variables lead to one block": """\
p = nl.zeros((5, nl.par_dim(64), 64), dtype=nl.float32, buffer=nl.psum)
for i in nl.static_range(2):
    for j in nl.static_range(3):
        p[2 * i + j] = nisa.nc_matmul(a, a)""",
    "slices overlap": """\
p = nl.zeros((64, 128), dtype=nl.float32, buffer=nl.psum)
for i in nl.static_range(2):
    p[:, 32 * i:32 * i + 64] = nisa.nc_matmul(a, a)""",
    "what else an index depends on changes": """\
p = nl.zeros((4, nl.par_dim(64), 64), dtype=nl.float32, buffer=nl.psum)
off = 0
for i in nl.static_range(3):
    p[i + off] = nisa.nc_matmul(a, a)
    off = off - 1""",
    "the loop of the matmul may not run": """\
p = nl.zeros((64, 64), dtype=nl.float32, buffer=nl.psum)
for i in nl.static_range(3):
    for j in nl.static_range(i):
        p += nisa.nc_matmul(a, a)
    p[...] = nl.add(p, 1.0)""",
    "the loop of the matmul may end early": """\
p = nl.zeros((64, 64), dtype=nl.float32, buffer=nl.psum)
for i in nl.static_range(3):
    for j in range(2):
        if i == 0:
            break
        p += nisa.nc_matmul(a, a)
    p[...] = nl.add(p, 1.0)""",
    "the next pass overwrites what this one adds to": """\
p = nl.zeros((6, nl.par_dim(64), 64), dtype=nl.float32, buffer=nl.psum)
for i in nl.static_range(2):
    p[i] = nisa.nc_matmul(a, a)
    p[i + 1] += nisa.nc_matmul(a, a)""",
    "the next pass overwrites a part of the tile that is declared again": """\
p = nl.zeros((64, 64), dtype=nl.float32, buffer=nl.psum)
for i in nl.static_range(2):
    p[:, 16 * i:16 * i + 16] = nisa.nc_matmul(a, a[:, 0:16])
    p[...] = nisa.nc_matmul(a, a)""",
    "the matmul writes a part": """\
p = nl.zeros((64, 64), dtype=nl.float32, buffer=nl.psum)
for i in nl.static_range(2):
    p[:, 32 * i:32 * i + 32] += nisa.nc_matmul(a, a[:, 0:32])
    p[...] = nl.add(p, 1.0)""",
    "a helper takes another side in each pass": """\
p = nl.zeros((64, 64), dtype=nl.float32, buffer=nl.psum)
for i in nl.static_range(2):
    either(p, a, i == 0)""",
    "one side declares the tile again": """\
p = nl.zeros((64, 64), dtype=nl.float32, buffer=nl.psum)
p[...] = nisa.nc_matmul(a, a)
if flag:
    p[...] = nl.multiply(a, 0.5)
else:
    p[...] = nisa.nc_matmul(a, a)
p += nisa.nc_matmul(a, a)""",
    "a loop that may not run declares the tile again": """\
p = nl.zeros((64, 64), dtype=nl.float32, buffer=nl.psum)
p[...] = nl.multiply(a, 0.5)
for i in nl.static_range(n - 2):
    p[...] = nisa.nc_matmul(a, a)
p += nisa.nc_matmul(a, a)""",
}


@pytest.mark.parametrize("lines", FAULTS.values(), ids=FAULTS)
def test_a_matmul_that_would_do_otherwise_has_a_finding(lines):
    findings = rewrite(kernel(lines, "nl.store(out, a)"), Options(unsafe=True)).findings
    assert "NKI023" in {finding.code for finding in findings}


KEPT = {
    "a tile for each pass": """\
for i in nl.static_range(2):
    p = nl.zeros((64, 64), dtype=nl.float32, buffer=nl.psum)
    p += nisa.nc_matmul(a, a)
    p[0:32, 8:16] = nl.multiply(a[0:32, 0:8], 0.5)
    nl.store(out, p)""",
    "the matmul comes first in each pass": """\
p = nl.zeros((64, 64), dtype=nl.float32, buffer=nl.psum)
for i in nl.static_range(2):
    for j in nl.static_range(n):
        p += nisa.nc_matmul(a, a)
    p[...] = nl.multiply(p, 0.5)
nl.store(out, p)""",
    "both sides write the block of the pass": """\
p = nl.zeros((4, nl.par_dim(64), 64), dtype=nl.float32, buffer=nl.psum)
for i in nl.static_range(3):
    if i == 0:
        p[i] = nisa.nc_matmul(a, a)
    else:
        p[i] = nisa.nc_matmul(a, nl.exp(a))
nl.store(out, p[0])""",
    "each pass has a block": """\
p = nl.zeros((2 * n, nl.par_dim(64), 64), dtype=nl.float32, buffer=nl.psum)
for i in nl.static_range(2):
    for j in nl.static_range(n):
        p[i * n + j] = nisa.nc_matmul(a, a)
nl.store(out, p[1])""",
    "each pass has a part of two dimensions": """\
p = nl.zeros((64, 64), dtype=nl.float32, buffer=nl.psum)
for i in nl.static_range(2):
    for j in nl.static_range(4):
        p[32 * i:32 * i + 32, 16 * j:16 * j + 16] = nisa.nc_matmul(a[:, 0:32], a[:, 0:16])
nl.store(out, p)""",
}


@pytest.mark.parametrize("lines", KEPT.values(), ids=KEPT)
def test_groups_that_beta_2_forms_as_well_are_rewritten(migrate, lines):
    migration = migrate(kernel(lines), {**ARGS, "flag": True})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


def test_steps_that_cannot_be_compared_are_asserted():
    lines = "p = nl.zeros((64, 64), dtype=nl.float32, buffer=nl.psum)\nfor i in nl.static_range(2):\n"
    lines += "    p[:, 32 * i:32 * i + n] = nisa.nc_matmul(a, a[:, 0:n])\nnl.store(out, p)"
    outcome = rewrite(kernel(lines), Options(unsafe=True))
    assert outcome.findings == ()
    assert 'assert 32 >= n, "rewritten for parts of a PSUM tile that do not overlap"' in outcome.source


class Program:
    """A kernel that writes one PSUM tile, or the blocks of a tensor or a list, again and again."""

    def __init__(self, chosen: random.Random) -> None:
        self.chosen, self.count, self.loops = chosen, 0, list[str]()
        zeros = "nl.zeros((64, 64), dtype=nl.float32, buffer=nl.psum)"
        self.blocks = chosen.choice([0, 0, 3, 3, -3])
        declared = {
            0: f"p = {zeros}",
            3: f"p = {zeros.replace('((64', '((6, nl.par_dim(64)')}",
            -3: f"p = [{zeros} for _ in range(6)]",
        }[self.blocks]
        around = chosen.random() < 0.3
        inside = [declared, *self.block(2), f"nl.store(out, {self.tile()})"]
        self.lines = ["for o in nl.static_range(2):", *(f"    {line}" for line in inside)] if around else inside

    def block(self, depth: int) -> list[str]:
        return [line for _ in range(self.chosen.randint(1, 3)) for line in self.statement(depth)]

    def statement(self, depth: int) -> list[str]:
        kinds = [self.accumulate, self.accumulate, self.overwrite, self.change, self.call]
        return self.chosen.choice([*kinds, self.loop, self.loop, self.branch] if depth else kinds)(depth)

    def tile(self) -> str:
        if not self.blocks:
            return "p"
        fixed = [str(self.chosen.randrange(3))]
        sums = [f"{one} + {other}" for one in self.loops for other in self.loops if one != other]
        sums += [f"2 * {one} + {other}" for one in self.loops for other in self.loops if one != other]
        return f"p[{self.chosen.choice([*fixed, *self.loops * 3, *sums[:2], *(f'{v} + 1' for v in self.loops)])}]"

    def place(self, count: int) -> str:
        rows = self.chosen.choice([":", "0:64"])
        starts = ["0", *(f"{self.chosen.choice([count, 16])} * {v}" for v in self.loops)]
        start = self.chosen.choice(starts)
        whole = self.tile()
        return f"{whole}[{rows}, {start}:{start} + {count}]" if self.chosen.random() < 0.3 else f"{whole}[...]"

    def accumulate(self, depth: int) -> list[str]:
        place = self.place(16)
        return [f"{place} += {PRODUCT if '...' in place else 'nisa.nc_matmul(a, a[:, 0:16])'}"]

    def overwrite(self, depth: int) -> list[str]:
        return [self.accumulate(depth)[0].replace("+=", "=")]

    def change(self, depth: int) -> list[str]:
        place = self.place(16)
        return [f"{place} = nl.multiply({place}, 0.5)" if "..." in place else f"{place} = nl.exp(a[:, 0:16])"]

    def call(self, depth: int) -> list[str]:
        tests = ["flag", *(f"{v} == 0" for v in self.loops)]
        either = f"either({self.tile()}, a, {self.chosen.choice(tests)})"
        return [self.chosen.choice([f"added({self.tile()}, a)", f"halved({self.tile()}, a)", either])]

    def loop(self, depth: int) -> list[str]:
        self.count += 1
        variable = f"i{self.count}"
        self.loops.append(variable)
        body = self.block(depth - 1)
        self.loops.pop()
        kind = self.chosen.choice(["nl.static_range", "nl.static_range", "range"])
        outer = [f"{v} + 1" for v in self.loops]
        return [
            f"for {variable} in {kind}({self.chosen.choice(['1', '2', 'n', *outer])}):",
            *(f"    {b}" for b in body),
        ]

    def branch(self, depth: int) -> list[str]:
        tests = ["flag", "n == 2", *(f"{v} == {self.chosen.choice([0, 1])}" for v in self.loops)]
        other = ["else:", *(f"    {line}" for line in self.block(depth - 1))] if self.chosen.random() < 0.5 else []
        return [f"if {self.chosen.choice(tests)}:", *(f"    {line}" for line in self.block(depth - 1)), *other]


@pytest.mark.random
@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(chosen=st.randoms(use_true_random=False), flag=st.booleans())
def test_psum_writes_are_rewritten_and_equal_or_have_a_finding(migrate, chosen, flag):
    source = kernel(*Program(chosen).lines)
    note(source)
    migration = migrate(source, {**ARGS, "flag": flag})
    if isinstance(migration.before, Failure) or migration.outcome.findings:
        return
    assert (migration.objection, migration.trouble) == (None, ())


def test_many_of_the_programs_are_rewritten():
    """So that the property above does not hold because nothing is rewritten."""
    sources = [kernel(*Program(random.Random(seed)).lines) for seed in range(60)]
    assert sum(rewrite(source, Options(unsafe=True)).findings == () for source in sources) >= 10
