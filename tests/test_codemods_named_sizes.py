"""Sizes that masks leave: where they are written, what they are called; random nests of loops stay equal."""

from __future__ import annotations

import random

import pytest
from examples import examples
from first_rung import rewrite
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from nki_migrate.runtime.cases import TensorSpec
from nki_migrate.runtime.compare import Failure

HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x, n, m, flag):
    i_p = nl.arange(8)[:, None]
    i_f = nl.arange(10)[None, :]
    limit = m
"""
LOOPS = ("nl.affine_range", "nl.sequential_range", "nl.static_range", "range")


class Nest:
    """A kernel of loops in loops, with conditions, names that are bound again, and loads and stores under masks."""

    def __init__(self, chosen: random.Random) -> None:
        self.chosen, self.lines, self.slots = chosen, [], 0
        self.block([], 0)
        self.use([], "    ")

    @property
    def source(self) -> str:
        declared = f"    out = nl.ndarray(({self.slots}, 8, 10), dtype=x.dtype, buffer=nl.shared_hbm)\n"
        first = "    nl.store(out[0, i_p, i_f], value=nl.zeros((8, 10), dtype=x.dtype, buffer=nl.sbuf))\n"
        return HEAD + declared + first + "\n".join(self.lines) + "\n    return out\n"

    def block(self, around: list[str], depth: int) -> None:
        indent = "    " * (depth + 1)
        for _ in range(self.chosen.randint(2, 3)):
            kind = self.chosen.choice(["use", "use", "loop", "loop", "bind", "bind", "if"])
            if kind == "loop" and depth < 3:
                variable = "abc"[depth]
                count = self.chosen.choice(["2", "3", "(n + 7) // 8"])
                self.lines.append(f"{indent}for {variable} in {self.chosen.choice(LOOPS)}({count}):")
                self.block([*around, variable], depth + 1)
            elif kind == "if" and depth < 3:
                self.lines.append(f"{indent}if flag:")
                self.block(around, depth + 1)
            elif kind == "bind":
                value = self.chosen.choice(["limit - 2", "n", "limit + 3", *(f"m - {v} * 3" for v in around)])
                self.lines.append(f"{indent}limit = {value}")
            else:
                self.use(around, indent)

    def use(self, around: list[str], indent: str) -> None:
        row, column = (self.chosen.choice(["0", *(f"{v} * {step}" for v in around)]) for step in (8, 10))
        bounds = [
            f"({row} + i_p < {self.chosen.choice(['n', 'm', 'limit', 'limit', 'x.shape[0] - 9', 'limit + 2'])})",
            f"({column} + i_f < {self.chosen.choice(['n', 'limit', 'limit', 'n + m'])})",
        ]
        mask = " & ".join(self.chosen.sample(bounds, self.chosen.randint(1, 2)))
        self.lines += [
            f"{indent}tile = nl.zeros((8, 10), dtype=x.dtype, buffer=nl.sbuf)",
            f"{indent}tile[i_p, i_f] = nl.load(x[{row} + i_p, {column} + i_f], mask={mask})",
            f"{indent}nl.store(out[{self.slots}, i_p, i_f], value=tile[i_p, i_f], mask={mask})",
        ]
        self.slots += 1


@pytest.mark.random
@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(chosen=st.randoms(use_true_random=False), n=st.integers(1, 12), m=st.integers(-1, 14), flag=st.booleans())
def test_sizes_of_masks_in_nests_of_loops_are_what_they_were(migrate, chosen, n, m, flag):
    nest = Nest(chosen)
    note(nest.source)
    migration = migrate(nest.source, {"x": TensorSpec((32, 40), "float32", "normal"), "n": n, "m": m, "flag": flag})
    if isinstance(migration.before, Failure) or migration.outcome.findings:
        return
    assert (migration.objection, migration.trouble) == (None, ())


def test_most_nests_are_rewritten():
    outcomes = [rewrite(Nest(random.Random(seed)).source) for seed in range(40)]
    assert sum(outcome.findings == () for outcome in outcomes) >= 30


@pytest.mark.parametrize(
    ("body", "size"),
    [("", 4), ("limit = limit - 1", 8), ("if flag:\n            limit = m - 1", 8), ("a = a + 0", 4)],
)
def test_a_size_is_written_in_front_of_the_loops_that_do_not_change_it(body, size):
    source = f"""\
{HEAD}    out = nl.ndarray((8, 10), dtype=x.dtype, buffer=nl.shared_hbm)
    for a in nl.static_range(2):
        {body or "pass"}
        for b in nl.static_range(2):
            tile = nl.load(x[i_p, i_f], mask=i_p < limit)
            nl.store(out[i_p, i_f], value=tile, mask=i_p < limit)
    return out
"""
    written = rewrite(source).source
    (line,) = [line for line in written.splitlines() if line.lstrip().startswith("i_p_size")]
    assert len(line) - len(line.lstrip()) == size
