"""Random kernels of scopes: one integer becomes an operand, or an address, so that a wrong binding shows.

Each is rewritten, and both versions run. *wrong* must never come up: rewritten without a finding, and other numbers or
addresses. ``tests/bench/scopes.py`` runs many.
"""

from __future__ import annotations

import random

from first_rung import rewrite
from nki_migrate.runtime.cases import Case, TensorSpec
from nki_migrate.runtime.compare import Failure, compare_layout
from nki_migrate.runtime.messages import Request
from nki_migrate.runtime.pool import Pool

HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.language as nl

b = 7
e = 0
{before}

@nki.jit
def k(x):
    n = x.shape[1] // 16
    a = 3
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
"""
PINNED = """\
    where = {number}
    tile = nl.ndarray((nl.par_dim(8), 64), dtype=x.dtype, buffer=ncc.sbuf.mod_alloc(base_addr=where % 32 * 256))
    tile[...] = nl.load(x)
"""
TAIL = """\
    tile[...] = nl.multiply(tile, float({number}))
    nl.store(out, value=tile)
    return out
"""
ARGS = {"x": TensorSpec((8, 64), "float32", "normal")}
NAMES = ("a", "c", "d")
KINDS = (*("def", "bind") * 8, *("if", "loop") * 4, "lambda", "rare")
"""The last two are findings inside of a kernel, and few; around it, Python's statements are free."""
MODULE = (
    "b = 4",
    "b, e = e, b",
    "b = (e := 5) + 1",
    "del b\nb = 3",
    "class b:\n    e = 2\n\n\nb = b.e",
    "from math import trunc as b\n\nb = b(6.5)",
    "def other():\n    global b\n    b = 9\n\n\nother()",
    "for b in range(3):\n    e = b",
    "b = (lambda b: b + e)(b)",
    "if b == 7:\n    e = 2\nelse:\n    b = 1",
    "import math as c",
    "a = 11",
    "def f(v):\n    return v + 50",
    "def g(a):\n    return a * b",
)
"""Statements of the module, before and behind the kernel: some bind names that it reads, others those that it binds."""


def kernel(choose: random.Random) -> str:
    """A kernel whose result is its operand times one number, which may also be where its tile lies."""
    lines: list[str] = []
    functions: list[str] = []
    bound = ["a", "n", "b"]

    def value(names: list[str]) -> str:
        return f"{choose.choice(names)} {choose.choice('+-*')} {choose.choice((*names, '1', '2'))}"

    def define(pad: str) -> None:
        name, parameter = choose.choice(("f", "g", "h")), choose.choice((*NAMES, "v"))
        names = [*bound, parameter]
        lines.append(f"{pad}def {name}({parameter}):")
        if choose.random() < 0.4:
            local = choose.choice(NAMES)
            lines.append(f"{pad}    {local} = {parameter} + {choose.randrange(5)}")
            names.append(local)
        others = [f for f in functions if f != name]
        call = f" + {choose.choice(others)}({parameter})" if others and choose.random() < 0.5 else ""
        lines.append(f"{pad}    return {value(names)}{call}")
        functions.append(name)

    def anonymous(pad: str) -> None:
        name, parameter = choose.choice(("f", "g", "h")), choose.choice((*NAMES, "v"))
        lines.append(f"{pad}{name} = lambda {parameter}: {value([*bound, parameter])}")
        functions.append(name)

    def rare(pad: str) -> None:
        """A statement that binds, or unbinds, in another way than an assignment does."""
        name, other = choose.choice(NAMES), choose.choice(bound)
        match choose.randrange(5):
            case 0:
                lines.append(f"{pad}class {name}:")
                lines.append(f"{pad}    {other} = {value(bound)}")
                lines.append(f"{pad}{name} = {name}.{other}")
            case 1:
                lines.append(f"{pad}from math import trunc as {name}")
                lines.append(f"{pad}{name} = {name}({other})")
            case 2:
                lines.append(f"{pad}{choose.choice(NAMES)} = ({name} := {value(bound)}) + 1")
            case 3:
                lines.append(f"{pad}{name} = {value(bound)}")
                lines.append(f"{pad}del {name}")
                lines.append(f"{pad}{name} = {value([n for n in bound if n != name])}")
            case 4:
                function = choose.choice(("f", "g", "h"))
                lines.append(f"{pad}def {function}(v):")
                lines.append(f"{pad}    global e")
                lines.append(f"{pad}    e = {value([*bound, 'v'])}")
                lines.append(f"{pad}    return e + v")
                functions.append(function)
        if name not in bound and any(line.startswith(f"{pad}{name} = ") for line in lines):
            bound.append(name)

    def bind(pad: str) -> None:
        name = choose.choice(NAMES)
        calls = [f"{f}({choose.choice(bound)})" for f in functions]
        lines.append(f"{pad}{name} = {choose.choice([value(bound), *calls])}")
        if name not in bound:
            bound.append(name)

    for _ in range(choose.randrange(3, 8)):
        kind = choose.choice(KINDS)
        pad = "    "
        if kind in ("if", "loop"):
            test = choose.choice(("n == 4", "n == 3", "a > 2"))
            loop = choose.choice(("nl.static_range(2)", "nl.affine_range(2)", "range(2)"))
            lines.append(f"{pad}if {test}:" if kind == "if" else f"{pad}for i in {loop}:")
            inside = choose.choice((define, bind))
            inside(pad * 2)
            if kind == "if" and choose.random() < 0.6:
                lines.append(f"{pad}else:")
                inside(pad * 2)
        else:
            {"def": define, "bind": bind, "lambda": anonymous, "rare": rare}[kind](pad)
    last = choose.choice([*(f"{f}(2)" for f in functions), *bound])
    tile = PINNED.format(number=last) if choose.random() < 0.5 else "    tile = nl.load(x)\n"
    before, behind = ("\n\n".join(choose.sample(MODULE, choose.randrange(3))) + "\n" for _ in range(2))
    body = "".join(f"{line}\n" for line in lines)
    return HEAD.replace("{before}", before) + body + tile + TAIL.format(number=last) + "\n\n" + behind


def tried(source: str, workers: Pool, folder: str) -> tuple[str, str]:
    """What becomes of a kernel: ``illegal``, ``finding``, ``stopped``, ``equal`` or ``wrong``; and its output."""
    outcome = rewrite(source)
    runs = []
    for name, text in (("old", source), ("new", outcome.source)):
        path = f"{folder}/{name}_{hash(source)}.py"
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        runs.append(workers.submit(Request("run", path, Case("k", "case", "", args=ARGS), "gen3")).result())
        if name == "old" and isinstance(runs[0], Failure):
            return "illegal", outcome.source
        if outcome.findings:
            return "finding", outcome.source
    before, after = runs
    if isinstance(after, Failure):
        return "stopped", outcome.source
    same = before.outputs == after.outputs and compare_layout(before, after).verdict == "equal"
    return ("equal" if same else "wrong"), outcome.source
