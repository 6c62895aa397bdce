"""Random kernels of scopes: one integer that becomes an operand, so that a wrong binding shows as other numbers.

    python tests/scope_kernels.py [--seconds 300] [--seed N]

Each is rewritten, and both versions run. *wrong* must never come up: rewritten without a finding, and other numbers.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter

import numpy as np
from nki_migrate.codemods import rewrite
from nki_migrate.runtime.cases import Case, TensorSpec
from nki_migrate.runtime.compare import Failure
from nki_migrate.runtime.messages import Request
from nki_migrate.runtime.pool import Pool, pool

HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

b = 7


@nki.jit
def k(x):
    n = x.shape[1] // 16
    a = 3
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
"""
TAIL = """\
    tile = nl.load(x)
    tile[...] = nl.multiply(tile, float({number}))
    nl.store(out, value=tile)
    return out
"""
ARGS = {"x": TensorSpec((8, 64), "float32", "normal")}
NAMES = ("a", "c", "d")


def kernel(choose: random.Random) -> str:
    """A kernel whose result is its operand times one number."""
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

    def bind(pad: str) -> None:
        name = choose.choice(NAMES)
        calls = [f"{f}({choose.choice(bound)})" for f in functions]
        lines.append(f"{pad}{name} = {choose.choice([value(bound), *calls])}")
        if name not in bound:
            bound.append(name)

    for _ in range(choose.randrange(3, 8)):
        kind = choose.choice(("def", "def", "bind", "bind", "if", "loop"))
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
            (define if kind == "def" else bind)(pad)
    last = choose.choice([*(f"{f}(2)" for f in functions), *bound])
    return HEAD + "".join(f"{line}\n" for line in lines) + TAIL.format(number=last)


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
    same = all(np.array_equal(p, q) for p, q in zip(before.outputs, after.outputs, strict=True))
    return ("equal" if same else "wrong"), outcome.source


def main() -> None:
    import tempfile

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    choose, ended, results = random.Random(options.seed), time.monotonic() + options.seconds, Counter[str]()
    with tempfile.TemporaryDirectory() as folder, pool(1) as workers:
        while time.monotonic() < ended:
            source = kernel(choose)
            result, text = tried(source, workers, folder)
            results[result] += 1
            if result in ("wrong", "stopped") and results[result] <= 3:
                print(f"--- {result}\n{source}\n--- output\n{text}", flush=True)
    print(dict(results))


if __name__ == "__main__":
    main()
