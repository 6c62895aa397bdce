"""How fast the emulator is: kernels of ours against the plain NumPy expression of the same computation.

    python tests/bench/emulator.py [--dialect beta1|beta2|both] [--repeat N] [--only NAME] [--cpu] [--json FILE]

Each kernel of ``emulator_kernels.py`` runs at three sizes: as it is written, in Beta 1, and as the tool migrates it to
Beta 2. Results are compared with NumPy's before anything is timed. The table gives, of one launch,

``ratio``     the time of the emulator over that of the expression;
``instr.``    its instructions, which do not include declarations;
``us/i``      microseconds an instruction, of all the time there is: the launch, the declarations, NumPy's work;
``python``    at the smallest size, microseconds of Python's own work an instruction: without NumPy's work
              (``emulator_calls.py``: what the definitions in ``runtime/isa`` do with arrays is noted in one launch, and
              timed alone), and without the time that it takes to launch a kernel at all (one with as many inputs that
              loads 8 x 8 elements and stores them, whose two instructions do not count either);
``rec.``      the time with recording on over that without.

At the smallest size the tiles are tiny, but NumPy's work is not nothing: a matmul is padded to 128 steps, a sum to 512
terms, so that the bits do not depend on the size.

On a machine that does other work too, ``--cpu`` counts processor time instead of time, with one BLAS thread
(``OPENBLAS_NUM_THREADS=1``) so that no thread spins while it waits. Times are the shortest of ``--repeat`` turns.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

import full_size
from emulator_calls import nothing, numpy_calls, repeat
from nki_migrate.codemods.model import Options
from nki_migrate.rewriting import rewrite_report
from nki_migrate.runtime import shims
from nki_migrate.runtime.beta1.launch import launch as launch_beta1
from nki_migrate.runtime.beta2.launch import launch as launch_beta2

Array = np.ndarray[Any, Any]
KERNELS = Path(__file__).resolve().with_name("emulator_kernels.py")
LAUNCHES: dict[str, Callable[..., Any]] = {"beta1": launch_beta1, "beta2": launch_beta2}
LAUNCHED = {1: "launched", 2: "launched_with_two", 3: "launched_with_three"}
"""The kernel whose time is that of a launch with so many inputs."""
LEAST = 2
"""Its instructions."""
Timed = Callable[[list[Callable[[], object]]], list[float]]


@dataclass(frozen=True)
class Bench:
    """The name of a kernel, the plain NumPy expression, and its arguments at three sizes (smallest first)."""

    name: str
    expression: Callable[..., Array]
    sizes: tuple[tuple[int, ...], ...]
    arguments: Callable[..., dict[str, Any]]


@dataclass(frozen=True)
class Row:
    """One kernel at one size; times of one launch in seconds.

    ``launch`` is that of next to no kernel, ``calls`` NumPy's share of ``emulator``; ``launch`` is without its share.
    (Both are for small sizes only.)
    """

    dialect: str
    name: str
    size: tuple[int, ...]
    numpy: float
    emulator: float
    recorded: float
    instructions: int
    launch: float | None = None
    calls: float | None = None

    @property
    def ratio(self) -> float:
        return self.emulator / self.numpy

    @property
    def microseconds(self) -> float:
        return self.emulator / self.instructions * 1e6

    @property
    def python(self) -> float | None:
        """Microseconds of Python's own work an instruction (module docstring)."""
        if self.launch is None or self.calls is None:
            return None
        return max(self.emulator - self.launch - self.calls, 0) / (self.instructions - LEAST) * 1e6

    @property
    def recording(self) -> float:
        return self.recorded / self.emulator


def normal(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape, np.float32)


def softmax(x: Array) -> Array:
    powers = np.exp(x - x.max(-1, keepdims=True))
    result: Array = powers / powers.sum(-1, keepdims=True)
    return result


def attention(q: Array, k: Array, v: Array) -> Array:
    return softmax((q.T @ k) * np.float32(1 / math.sqrt(q.shape[0]))) @ v


def rmsnorm(x: Array, w: Array) -> Array:
    result: Array = x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(1e-6)) * w
    return result


def scan(a: Array, b: Array) -> Array:
    """``r[:, i] = a[:, i] * r[:, i - 1] + b[:, i]``: what a Python programmer would write with NumPy."""
    out = np.empty_like(a)
    state = np.zeros(a.shape[0], np.float32)
    for i in range(a.shape[1]):
        state = a[:, i] * state + b[:, i]
        out[:, i] = state
    return out


BENCHES = (
    Bench(
        "matmul",
        lambda lhsT, rhs: lhsT.T @ rhs,
        ((8, 8, 8), (512, 512, 512), (1024, 1024, 2048)),
        lambda m, k, n: {"lhsT": normal(k, m), "rhs": normal(k, n)},
    ),
    Bench("softmax", softmax, ((8, 8), (512, 2048), (2048, 8192)), lambda m, n: {"x": normal(m, n)}),
    Bench(
        "flash_attention",
        attention,
        ((16, 8, 8), (64, 1024, 128), (128, 4096, 128)),
        lambda d, s, tile: {"q": normal(d, s), "k": normal(d, s), "v": normal(s, d), "tile": tile},
    ),
    Bench(
        "rmsnorm",
        rmsnorm,
        ((8, 8), (512, 2048), (2048, 8192)),
        lambda m, n: {"x": normal(m, n), "w": normal(1, n)},
    ),
    Bench(
        "bmm",
        lambda a, b: a.transpose(0, 2, 1) @ b,
        ((4, 8, 8, 8), (8, 256, 128, 512), (16, 512, 256, 1024)),
        lambda e, k, m, n: {"a": normal(e, k, m), "b": normal(e, k, n)},
    ),
    Bench(
        "scan",
        scan,
        ((8, 8), (128, 2048), (512, 8192)),
        lambda m, n: {"a": normal(m, n) * np.float32(0.5), "b": normal(m, n)},
    ),
)


def kernels(dialect: str, folder: Path) -> Any:
    """The module of kernels in ``dialect``; that of Beta 2 is written to ``folder``."""
    path = KERNELS
    if dialect == "beta2":
        report = rewrite_report(str(KERNELS), KERNELS.read_bytes(), Options())
        if report.status != "changed" or report.findings:
            raise SystemExit(f"the tool did not migrate all of {KERNELS}: {report.reason or report.findings}")
        path = folder / "emulator_kernels_beta2.py"
        path.write_bytes(report.after)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with shims.installed():
        spec.loader.exec_module(module)
    return module


def best(actions: Sequence[Callable[[], object]], repeat: int, clock: Callable[[], float]) -> list[float]:
    """The shortest time of each action, in ``repeat`` turns: what else the machine does meets all of them.

    In its turn an action runs for some milliseconds. Short ones are run several times at once, long enough to be timed.
    """
    shortest = [math.inf] * len(actions)
    for turn in range(-1, repeat):  # the first one is for warmth
        for position, action in enumerate(actions):
            begun = now = clock()
            rounds = 1
            while now - begun < 0.006:
                started = now
                for _ in range(rounds):
                    action()
                now = clock()
                if now - started < 0.0002:
                    rounds *= 4
                elif turn >= 0:
                    shortest[position] = min(shortest[position], (now - started) / rounds)
    return shortest


def measured(dialect: str, module: Any, bench: Bench, size: tuple[int, ...], timed: Timed) -> Row:
    """Run one kernel at one size, compare its result with that of the expression, and time it."""
    launch, kernel, arguments = LAUNCHES[dialect], getattr(module, bench.name), bench.arguments(*size)
    arrays = {name: value for name, value in arguments.items() if isinstance(value, np.ndarray)}
    run = launch(kernel, arguments, record=True)
    np.testing.assert_allclose(run.outputs[0], bench.expression(**arrays), rtol=1e-3, atol=1e-3)
    actions: list[Callable[[], object]] = [
        lambda: bench.expression(**arrays),
        lambda: launch(kernel, arguments),
        lambda: launch(kernel, arguments, record=True),
    ]
    if size == bench.sizes[0]:
        least = getattr(module, LAUNCHED[len(arrays)])
        tiles = dict(zip("xyz", (normal(8, 8) for _ in arrays), strict=False))
        actions.append(lambda: launch(least, tiles))
        for share in (numpy_calls(actions[1]), numpy_calls(actions[3])):
            actions += [partial(repeat, share), partial(repeat, nothing(share))]
    numpy, emulator, recorded, *small = timed(actions)
    row = Row(dialect, bench.name, size, numpy, emulator, recorded, len(run.machines[0].events))
    if not small:
        return row
    launching, calls, idle, calls_of_launch, idle_of_launch = small
    return replace(row, launch=launching - (calls_of_launch - idle_of_launch), calls=calls - idle)


HEADER = (
    f"{'dialect':7} {'kernel':15} {'size':>22} {'numpy ms':>9} {'emul. ms':>9} {'ratio':>7} {'instr.':>7} {'us/i':>7} "
    f"{'python':>6} rec."
)


def line(row: Row) -> str:
    return (
        f"{row.dialect:7} {row.name:15} {' x '.join(map(str, row.size)):>22} {row.numpy * 1e3:9.3f} "
        f"{row.emulator * 1e3:9.3f} {row.ratio:7.2f} {row.instructions:7} {row.microseconds:7.1f} "
        f"{'' if row.python is None else f'{row.python:.1f}':>6} {row.recording:.2f}"
    )


def mean(values: list[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(math.log(value) for value in values) / len(values))


def summary(dialect: str, rows: list[Row]) -> str:
    """The geometric means of a dialect, over the kernels that were run."""
    by_name: dict[str, list[Row]] = {}
    for row in rows:
        by_name.setdefault(row.name, []).append(row)
    smallest, largest = [sizes[0] for sizes in by_name.values()], [sizes[-1] for sizes in by_name.values()]
    own = [row.python for row in smallest if row.python]
    return "\n".join(
        (
            f"{dialect}, geometric means:",
            f"    emulator / NumPy at the largest size run  {mean([row.ratio for row in largest]):6.2f}",
            f"    us an instruction at the smallest size    {mean([row.microseconds for row in smallest]):6.1f}",
            f"    of Python's own work                      {mean(own):6.1f}",
            f"    recording on / off                        {mean([row.recording for row in rows]):6.2f}",
        )
    )


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--dialect", choices=[*LAUNCHES, "both"], default="both")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", default="", help="the kernels whose name has this in it")
    parser.add_argument("--sizes", type=int, default=3, help="how many sizes, from the smallest")
    parser.add_argument("--cpu", action="store_true", help="processor time instead of time")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--full", type=Path, metavar="CHECKOUT", help="public kernels at full size: see full_size.py")
    parser.add_argument("--slow", action="store_true", help="with --full: those that take minutes, too")
    parser.add_argument("--verify", action="store_true", help="with --full: the time that verify takes, too")
    options = parser.parse_args(argv)
    if options.full is not None:
        found = full_size.main(
            options.full, only=options.only, repeat=options.repeat, slow=options.slow, verify=options.verify
        )
        if options.json is not None:
            options.json.write_text(json.dumps([asdict(row) for row in found], indent=1))
        return 1 if any(row.trouble.startswith("DIFFERS") for row in found) else 0
    clock = time.process_time if options.cpu else time.perf_counter
    rows: dict[str, list[Row]] = {name: [] for name in LAUNCHES if options.dialect in (name, "both")}
    print(HEADER)
    with tempfile.TemporaryDirectory() as folder:
        for dialect, done in rows.items():
            module = kernels(dialect, Path(folder))
            for bench in BENCHES:
                for size in bench.sizes[: options.sizes] if options.only in bench.name else ():
                    done.append(
                        measured(dialect, module, bench, size, partial(best, repeat=options.repeat, clock=clock))
                    )
                    print(line(done[-1]), flush=True)
    for dialect, done in rows.items():
        print(summary(dialect, done))
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(row) for done in rows.values() for row in done], indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
