"""``x = op(x)`` in place: right for random kernels of names that hold one tile, parts of it, or nothing else."""

from __future__ import annotations

import random
import re

import pytest
from examples import sampled
from first_rung import rewrite
from nki_migrate.runtime.cases import TensorSpec
from nki_migrate.runtime.compare import Failure

HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np


def same(t):
    return t


def doubled(t):
    t = nisa.tensor_scalar(t, np.multiply, 2.0)
    return t


def summed(t, u):
    whole = nl.add(t, u)
    return nl.multiply(whole, 0.5)


@nki.jit
def k(x, y):
    out = nl.ndarray((8, 64, 32), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.load(x)
    b = nl.load(y)
    c = nl.add(a, b)
    nl.store(out[7], value=summed(a, doubled(same(nl.load(y)))))
"""
NAMES = ("a", "b", "c")
ARGS = {name: TensorSpec((64, 32), "float32", "normal") for name in ("x", "y")}
OPERATIONS = (
    *("nisa.tensor_scalar({0}, np.multiply, 1.5)", "nisa.tensor_scalar({0}, np.add, {1}[:, 0:1])") * 2,
    *("nisa.tensor_tensor({0}, {1}, np.add)", "nisa.tensor_tensor({1}, {0}, np.subtract)") * 2,
    *("nisa.activation(op=nl.tanh, data={0})", "nl.multiply({0}, {1})", "nl.tanh({0})", "{0} - {1}") * 2,
    *(
        "nl.copy({0})",
        "doubled({0})",
        "summed({0}, {1})",
        "summed({1}, {0})",
        "nisa.tensor_scalar({0}, np.add, 1.0, op1=np.multiply, operand1={0}[:, 3:4])",
    ),
)
CALLS = ("nl.store(out[7], value=summed({0}, {1}))", "d = summed({0}, {1})", "d = same({1})", "d = doubled({0})")
HOLDERS = ("{0} = {1}", "{0} = same({1})", "part = {1}[:, 0:16]", "{0}[:, 0:8] = nl.copy({1}[:, 8:16])")


class _Kernel:
    """The text of a kernel, statement by statement; what holds a part of a tile is stored at the end."""

    def __init__(self, random: random.Random) -> None:
        self.random, self.lines, self.stores = random, [HEAD], 0

    def text(self) -> str:
        self.lines += ["    whole = nl.load(y)\n", "    part = whole[:, 0:16]\n", "    d = whole\n"]
        for _ in range(self.random.randint(4, 9)):
            self.statement("    ", 0)
        for name in NAMES:
            self.store("    ", name)
        self.lines += ["    nl.store(out[6, :, 0:16], value=part)\n", "    nl.store(out[7], value=d)\n"]
        return "".join(self.lines) + "    return out\n"

    def store(self, indent: str, name: str) -> None:
        self.lines.append(f"{indent}nl.store(out[{self.stores % 6}], value={name})\n")
        self.stores += 1

    def statement(self, indent: str, depth: int) -> None:
        kind, names = self.random.random(), self.random.sample(NAMES, 2)
        if kind < 0.15 and depth < 2:
            head = self.random.choice(
                ("for i{} in nl.affine_range(2):", "for i{} in range(2):", "if x.shape[0] == 64:")
            )
            self.lines.append(f"{indent}{head.format(depth)}\n")
            for _ in range(self.random.randint(1, 3)):
                self.statement(indent + "    ", depth + 1)
        elif kind < 0.25:
            self.lines.append(indent + self.random.choice(HOLDERS).format(*names) + "\n")
        elif kind < 0.35:
            self.store(indent, names[0])
        elif kind < 0.45:
            self.lines.append(indent + self.random.choice(CALLS).format(*names) + "\n")
        else:
            again = names if self.random.random() < 0.8 else names[::-1]
            self.lines.append(f"{indent}{names[0]} = {self.random.choice(OPERATIONS).format(*again)}\n")


@pytest.mark.parametrize("seed", sampled("in_place", range(30)))
def test_random_names_keep_their_tiles(migrate, seed: int) -> None:
    source = _Kernel(random.Random(seed)).text()
    if rewrite(source).findings:
        return
    migration = migrate(source, ARGS)
    if isinstance(migration.before, Failure):
        return  # Beta 1 refuses a tile outside of the loop that made it
    assert (migration.objection, migration.trouble) == (None, ()), f"{source}\n{migration.outcome.source}"


def test_many_of_the_kernels_are_rewritten_and_compute_in_place() -> None:
    """So that the property above does not hold because nothing is rewritten."""
    outcomes = [rewrite(_Kernel(random.Random(seed)).text()) for seed in range(30)]
    whole = [outcome.source for outcome in outcomes if not outcome.findings]
    assert len(whole) >= 12
    places = [source for source in whole if any(f"(dst={n}, data={n}," in source for n in NAMES)]
    assert len(places) >= 4 and any(
        re.search(r"(\w+) = \1_(scaled|shifted|accumulated|difference|max)\b", source) for source in whole
    )
