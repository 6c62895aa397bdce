"""Our ``SbufManager`` against the vendor's, on random programs: ``python compare.py CHECKOUT [PROGRAMS] [SEED]``.

CHECKOUT is any public version of aws-neuron/nki-library. Its ``allocator.py`` runs on our ``nki`` (that code is
executed: check out what you trust). Hypothesis searches for a program on which addresses, free space, names or errors
differ; then the same number of random programs is counted and timed: how many differ, and at which call first. A
second count is of plain programs (what all versions have: four data types, no alignment, no names) and of addresses
and free space alone. Exits with 0 when nothing differs.

Nothing of the vendor's code is kept; ``runtime/nkilib/VERSIONS.md`` has the numbers.
"""

from __future__ import annotations

import argparse
import importlib
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import programs
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from nki_migrate.runtime import shims
from nki_migrate.runtime.nkilib import allocator, logging

Runner = Callable[[bytes], list[programs.Outcome]]
MAX_STEPS = 24


def vendor(checkout: Path) -> tuple[Any, Any]:
    """The vendor's modules ``allocator`` and ``logging`` below ``checkout``, loaded on our ``nki``."""
    path = next(checkout.rglob("nkilib/core/utils/allocator.py"), None)
    if path is None:
        raise SystemExit(f"{checkout}: there is no nkilib/core/utils/allocator.py in it")
    sys.path.insert(0, str(path.parents[3]))
    try:
        with shims.installed():
            loaded = [importlib.import_module(f"nkilib.core.utils.{name}") for name in ("allocator", "logging")]
    finally:
        del sys.path[0]
    if loaded[0].__file__ != str(path):
        raise SystemExit(f"{checkout}: nkilib was loaded from {loaded[0].__file__}")
    return loaded[0], loaded[1]


def runner(module: Any, logger: Any, language: Any) -> Runner:
    declare = programs.Declarations()

    def run(program: bytes) -> list[programs.Outcome]:
        with programs.declared_by(language, declare), redirect_stdout(StringIO()):
            return programs.run(module, logger, declare, program)

    return run


def searched(ours: Runner, theirs: Runner, count: int) -> str:
    """The smallest program that Hypothesis finds on which the two differ, described; empty when there is none."""
    found: list[str] = []

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    @given(st.binary(min_size=programs.HEAD, max_size=programs.HEAD + programs.STEP * MAX_STEPS))
    def same(program: bytes) -> None:
        mine, real = ours(program), theirs(program)
        if mine != real:
            found.append(described(program, mine, real))
            raise AssertionError

    try:
        same()
    except AssertionError:
        return found[-1]
    return ""


def described(program: bytes, mine: list[programs.Outcome], real: list[programs.Outcome]) -> str:
    """Every call with its outcome, up to the first one that differs."""
    lines = [f"SbufManager bytes {list(program[: programs.HEAD])}"]
    for step, (left, right) in enumerate(zip(mine, real, strict=True)):
        at = programs.HEAD + programs.STEP * step
        name, args, kwargs = programs.call(*program[at : at + programs.STEP])
        lines.append(f"{name}{args} {kwargs}\n    ours {left[1:]}")
        if left != right:
            return "\n".join([*lines, f"    real {right[1:]}"])
    return "\n".join(lines)


def random_programs(count: int, seed: int) -> list[bytes]:
    source = random.Random(seed)
    return [source.randbytes(programs.HEAD + programs.STEP * source.randint(1, MAX_STEPS)) for _ in range(count)]


def counted(ours: Runner, theirs: Runner, texts: list[bytes]) -> tuple[Counter[str], float]:
    """How many of ``texts`` differ, by the first call that does; and the programs a second."""
    first = Counter[str]()
    start = time.process_time()
    for program in texts:
        mine, real = ours(program), theirs(program)
        if mine != real:
            first[next(_difference(left, right) for left, right in zip(mine, real, strict=True) if left != right)] += 1
    return first, len(texts) / (time.process_time() - start)


def rate(run: Runner, texts: list[bytes]) -> tuple[float, float]:
    """Programs a second that ``run`` alone makes: of time, and of processor time."""
    start, busy = time.perf_counter(), time.process_time()
    for program in texts:
        run(program)
    return len(texts) / (time.perf_counter() - start), len(texts) / (time.process_time() - busy)


def without_errors(run: Runner) -> Runner:
    """``run`` with the texts of errors left out."""
    return lambda program: [
        (name, kind, *(() if kind == "raised" else value[:1]), *space)
        for name, kind, *value, _, space_left in run(program)
        for space in [("gave", space_left)]
    ]


def _difference(mine: programs.Outcome, real: programs.Outcome) -> str:
    if real[1] == "missing":
        return f"{real[0]} does not exist"
    if mine[1] == real[1] == "gave":
        return f"{real[0]} leaves other space" if mine[2:-1] == real[2:-1] else f"{real[0]} gives another result"
    return f"{real[0]} {'raises another error' if mine[1] == real[1] else real[1] + ' what ours does not'}"


def main(checkout: Path, count: int, seed: int) -> int:
    module, their_logging = vendor(checkout)
    ours = runner(allocator, logging.Logger("SBM", logging.LogLevel.OFF), programs.language)
    theirs = runner(module, their_logging.Logger("SBM", their_logging.LogLevel.OFF), module.nl)
    example = searched(ours, theirs, count)
    texts = random_programs(count, seed)
    first, both = counted(ours, theirs, texts)
    layouts, _ = counted(without_errors(ours), without_errors(theirs), [programs.plain(text) for text in texts])
    print(f"Hypothesis, {count} programs: {'equal' if not example else 'different'}")
    print(f"random, seed {seed}: {sum(first.values())} of {count} programs differ; ", end="")
    print(f"{both:.0f} programs a second of processor time, both run")
    print("ours alone: {:.0f} programs a second, {:.0f} of processor time".format(*rate(ours, texts)))
    for what, number in first.most_common():
        print(f"    {number:6d} first at: {what}")
    print(f"plain programs, seed {seed}: {sum(layouts.values())} of {count} have other addresses or another free space")
    for what, number in layouts.most_common():
        print(f"    {number:6d} first at: {what}")
    if example:
        print("smallest difference:", example, sep="\n")
    return int(bool(example or first))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, metavar="CHECKOUT")
    parser.add_argument("programs", type=int, nargs="?", default=20000, metavar="PROGRAMS")
    parser.add_argument("seed", type=int, nargs="?", default=0, metavar="SEED")
    options = parser.parse_args()
    sys.exit(main(options.checkout.resolve(), options.programs, options.seed))
