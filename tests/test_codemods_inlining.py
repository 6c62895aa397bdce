"""Nested functions that one statement calls: their bodies stand there, with the values and the order that they had."""

from __future__ import annotations

import ast
import random
from textwrap import dedent, indent

import pytest
from first_rung import Options, rewrite
from nki_migrate.codemods.plan.inlining.rewriting import in_place
from nki_migrate.codemods.syntax.source import Source
from nki_migrate.guard import complete, objection
from nki_migrate.runtime.cases import TensorSpec

SEEDS = 150
NAMES = ("a", "b", "c", "i", "j", "w", "x", "y")
HERE = NAMES[:5]
"""Names that the kernel binds first; the others it binds where a call gives them."""


class _Program:
    """A kernel of whole numbers in which functions with few names between them are called; what runs is noted."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.functions: list[tuple[str, list[str], int]] = []
        self.names: tuple[str, ...] = NAMES

    def source(self) -> str:
        body = ["a, b, c, i, j, w = 1, 2, 3, 4, 5, 6", *self.defined(2)]
        self.names = HERE if self.random.random() < 0.5 else (*HERE, "w")
        calls = [self.call(*function) for function in self.functions]
        while calls:
            body += self.block(2, calls)
        body += ["return (a, b, c, i, j)"]
        return "@nki.jit\ndef k(note, g):\n" + indent("\n".join(body), "    ") + "\n"

    def defined(self, depth: int) -> list[str]:
        lines: list[str] = []
        for _ in range(self.random.randint(1, 4)):
            name = f"f{len(self.functions)}"
            parameters = self.random.sample(NAMES, self.random.randint(0, 2))
            results = self.random.choice((0, 1, 1, 2))
            given = [f"{p}=7" if n and self.random.random() < 0.2 else p for n, p in enumerate(parameters)]
            body = [f"note('{name}', w)", *self.block(depth, [])]
            if results:
                returned = [self.random.choice((self.name(), self.name(), self.value())) for _ in range(results)]
                body.append("return " + ", ".join(returned))
            body = [*self.bound("\n".join(body), parameters), *body]
            lines += ["# step", f"def {name}({', '.join(given)}):  # of it", indent("\n".join(body), "    ")]
            self.functions.append((name, parameters, results))
        return lines

    def bound(self, body: str, parameters: list[str]) -> list[str]:
        """Statements that bind what a body might read before; some loops bind their own names only."""
        names = [n for n in ast.walk(ast.parse(f"def f():\n{indent(body, ' ')}")) if isinstance(n, ast.Name)]
        stored = {n.id for n in names if isinstance(n.ctx, ast.Store)} - {*parameters}
        return [f"{name} = {n}" for n, name in enumerate(sorted(stored), 10) if self.random.random() < 0.9]

    def call(self, name: str, parameters: list[str], results: int) -> str:
        given = [self.random.choice((self.name(), self.value())) for _ in parameters]
        if len(given) == 2 and self.random.random() < 0.3:
            given = [f"{parameters[1]}={given[1]}", f"{parameters[0]}={given[0]}"]
        target = ", ".join(self.random.sample(NAMES, results))
        return f"{target} = {name}({', '.join(given)})" if results else f"{name}({', '.join(given)})"

    def block(self, depth: int, calls: list[str]) -> list[str]:
        lines: list[str] = []
        for _ in range(self.random.randint(1, 3)):
            kind = self.random.random()
            if kind < 0.3 and depth:
                lines += [f"for {self.name()} in range(2):", indent("\n".join(self.block(depth - 1, calls)), "    ")]
            elif kind < 0.4 and depth:
                lines += [f"if {self.name()} % 2:", indent("\n".join(self.block(depth - 1, calls)), "    ")]
            elif calls and kind < 0.8:
                lines.append(calls.pop(0))
            else:
                lines.append(f"{self.name()} = {self.value()}")
            lines.append(f"note({self.name()})  # seen")
        return lines

    def name(self) -> str:
        return self.random.choice(self.names)

    def value(self) -> str:
        return self.random.choice((self.name(), f"{self.name()} + {self.name()}", f"g({self.name()})", "3"))


def _ran(text: str) -> tuple[object, list[object]] | None:
    """What a kernel returns and notes; ``None`` where it reads a name that it has not bound."""
    noted: list[object] = []

    def note(*values: object) -> None:
        noted.append([value for value in values if not callable(value)])

    def g(value: int) -> int:
        noted.append(("g", value))
        return value % 5 + 1

    space: dict[str, object] = {}
    exec(compile(text.replace("@nki.jit\n", ""), "<kernel>", "exec"), space)
    try:
        return space["k"](note, g), noted  # type: ignore[operator]
    except NameError:
        return None


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_programs_do_the_same(seed: int) -> None:
    text = "import neuronxcc.nki as nki\n" + _Program(seed).source()
    before = text.partition("\n")[2]
    new, count = text, 0
    while True:
        edited = in_place({"k.py": Source(new, "k.py")}, Options())["k.py"]
        if not edited.applied:
            break
        new, count = edited.text, count + edited.applied.total()
    expected = _ran(before)
    if expected is not None:
        assert _ran(new.partition("\n")[2]) == expected, f"{text}\n---\n{new}"
    assert new.count("#") == text.count("#")
    assert new.count("    def ") + count == text.count("    def ")


HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np


@nki.jit
def k(x, y):
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
"""
ARGS = {"x": TensorSpec((3, 64, 32), "float32", "normal"), "y": TensorSpec((64, 32), "float32", "normal")}
STEPS = {
    "a name of the kernel in it": """
        tile = nl.load(y)
        def step(t):
            tile = nl.load(x[t])
            half = nl.multiply(tile, 0.5)
            nl.store(out[t], value=half)
        for t in nl.affine_range(tiles):
            step(t)
        nl.store(out[0], value=tile)
    """,
    "a part of a tensor": """
        extra = nl.load(y)
        def step(part, t):
            both = nl.add(part, extra[:, 0:16])
            nl.store(out[t, :, 0:16], value=both)
            nl.store(out[t, :, 16:32], value=both)
        for t in nl.affine_range(tiles):
            tile = nl.load(x[t])
            step(tile[:, 16:32], t)
    """,
    "a part that is written": """
        whole = nl.ndarray((nl.par_dim(rows), columns), dtype=nl.float32, buffer=nl.sbuf)
        def step(part, source):
            part[...] = nl.load(source[:, 0:16])
            whole[:, 16:32] = nl.load(source[:, 16:32])
        for t in nl.affine_range(tiles):
            step(whole[:, 0:16], x[t])
            nl.store(out[t], value=whole)
    """,
    "a name that changes between the iterations": """
        base = 0
        def step(t):
            tile = nl.load(x[base + t])
            nl.store(out[base + t], value=tile)
        base = 1
        step(0)
        def last():
            nl.store(out[base], value=nl.load(x[base]))
        base = 2
        last()
        nl.store(out[0], value=nl.load(x[0]))
    """,
    "a step in a step": """
        def outer(t):
            tile = nl.load(x[t])
            def inner():
                both = nl.add(tile, tile)
                return both
            tile = inner()
            def last(tile):
                nl.store(out[t], value=tile)
            last(tile)
        for t in nl.affine_range(tiles):
            outer(t)
    """,
    "one that calls another": """
        def loaded(t):
            tile = nl.load(x[t])
            return tile
        def step(t):
            tile = loaded(t)
            nl.store(out[t], value=tile)
        for t in nl.affine_range(tiles):
            step(t)
    """,
    "two tiles": """
        def both(t):
            low = nl.load(x[t, :, 0:16])
            high = nl.load(x[t, :, 16:32])
            return low, high
        for t in nl.affine_range(tiles):
            high, low = both(t)
            nl.store(out[t, :, 0:16], value=low)
            nl.store(out[t, :, 16:32], value=high)
    """,
    "a sum in a loop": """
        total = nl.zeros((nl.par_dim(rows), columns), dtype=nl.float32, buffer=nl.sbuf)
        def step(t):
            tile = nl.load(x[t])
            tile = nl.multiply(tile, 2.0)
            total[...] = nl.add(total, tile)
        for t in nl.sequential_range(tiles):
            step(t)
        for t in nl.affine_range(tiles):
            nl.store(out[t], value=total)
    """,
}


@pytest.mark.parametrize("what", STEPS)
def test_a_step_stands_where_it_is_called(migrate, what):
    migration = migrate(HEAD + indent(dedent(STEPS[what]), "    ") + "    return out\n", ARGS)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert migration.outcome.source.count("def ") == 1


MOVED = {
    "two calls": "def step(t):\n    nl.store(out[t], value=nl.load(x[t]))\nstep(0)\nstep(1)",
    "in an expression": "def step(t):\n    return t + tiles\nn = step(0) + 1",
    "it reads nothing of the kernel": "def step(a, b):\n    nl.store(a, value=nl.load(b))\nstep(out[0], x[0])",
    "a flag": "def step(t, twice):\n    if twice:\n        nl.store(out[t], value=nl.load(x[t]))\nstep(0, True)",
    "a return amid it": "def step(t):\n    if t > 0:\n        return 1\n    return tiles\nn = step(0)",
    "a parameter that changes": "def step(t):\n    t = t + tiles\n    return t\nn = step(0)",
    "names that the kernel has": "p, q = 1, 2\ndef step():\n    p = 1 + tiles\n    q = p + p\n    return q\nm = step()",
    "its result is added": "n = 1\ndef step(t):\n    return t + tiles\nn += step(0)",
}


@pytest.mark.parametrize("what", MOVED)
def test_other_nested_functions_move_to_the_module(migrate, what):
    body = indent(MOVED[what], "    ")
    source = HEAD + body + "\n    for t in nl.affine_range(tiles):\n        nl.store(out[t], value=nl.load(x[t]))\n"
    outcome = rewrite(source + "    return out\n")
    assert "\ndef step(" in outcome.source or outcome.findings


def test_what_is_left_in_a_step_is_under_its_mark() -> None:
    body = """
        half = 0.5
        def step(t, where):
            half = nl.load(x[where])
            nl.store(out[t], value=nl.nothing(half, tiles, columns))
        for t in nl.affine_range(tiles):
            step(t, where=t)
        nl.store(out[0], value=nl.multiply(nl.load(y), half))
    """
    source = HEAD + indent(dedent(body), "    ") + "    return out\n"
    outcome = complete(source, rewrite(source), Options())
    assert "nl.nothing(half_2, tiles, columns)" in outcome.source
    assert [f.line for f in outcome.findings] == [15]
    assert objection(source, outcome, Options(), "old.py", rewrite) is None
