"""How fast the emulator is: kernels of ours against the plain NumPy expression of the same computation.

    python tests/bench/emulator.py [--repeat N] [--only NAME] [--cpu] [--json FILE]

Each kernel runs at three sizes. The table gives the time of the emulator over that of NumPy, the instructions and
microseconds per instruction, and what recording costs. At the smallest size the tiles are tiny, so that the time per
instruction is Python's. Results are compared with NumPy's before anything is timed.

On a machine that does other work too, ``--cpu`` counts processor time instead of time, with one BLAS thread
(``OPENBLAS_NUM_THREADS=1``) so that no thread spins while it waits.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

import emulator_kernels as kernels
from nki_migrate.runtime.beta1.launch import launch as launch_beta1
from nki_migrate.runtime.beta2.launch import launch as launch_beta2

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Bench:
    """A kernel, the plain NumPy expression, and its arguments at three sizes (smallest first)."""

    name: str
    kernel: Any
    expression: Callable[..., Array]
    sizes: tuple[tuple[int, ...], ...]
    arguments: Callable[..., dict[str, Any]]
    beta2: bool = False


@dataclass(frozen=True)
class Row:
    """One kernel at one size; times in seconds."""

    name: str
    size: tuple[int, ...]
    numpy: float
    emulator: float
    recorded: float
    instructions: int

    @property
    def ratio(self) -> float:
        return self.emulator / self.numpy

    @property
    def microseconds(self) -> float:
        """Time per instruction beyond the time of the computation itself."""
        return max(self.emulator - self.numpy, 0) / self.instructions * 1e6

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


def _matmul(m: int, k: int, n: int) -> dict[str, Any]:
    return {"lhsT": normal(k, m), "rhs": normal(k, n)}


BENCHES = (
    Bench(
        "matmul",
        kernels.matmul,
        lambda lhsT, rhs: lhsT.T @ rhs,
        ((8, 8, 8), (512, 512, 512), (1024, 1024, 2048)),
        _matmul,
    ),
    Bench(
        "matmul, Beta 2",
        kernels.matmul_beta2,
        lambda lhsT, rhs: lhsT.T @ rhs,
        ((8, 8, 8), (512, 512, 512), (1024, 1024, 2048)),
        _matmul,
        True,
    ),
    Bench("softmax", kernels.softmax, softmax, ((8, 8), (512, 2048), (2048, 8192)), lambda m, n: {"x": normal(m, n)}),
    Bench(
        "softmax, Beta 2",
        kernels.softmax_beta2,
        softmax,
        ((8, 8), (512, 2048), (2048, 8192)),
        lambda m, n: {"x": normal(m, n)},
        True,
    ),
    Bench(
        "flash attention",
        kernels.flash_attention,
        attention,
        ((16, 8, 8), (64, 1024, 128), (128, 4096, 128)),
        lambda d, s, tile: {"q": normal(d, s), "k": normal(d, s), "v": normal(s, d), "tile": tile},
    ),
    Bench(
        "RMSNorm",
        kernels.rmsnorm,
        rmsnorm,
        ((8, 8), (512, 2048), (2048, 8192)),
        lambda m, n: {"x": normal(m, n), "w": normal(1, n)},
    ),
    Bench(
        "blocked bmm",
        kernels.bmm,
        lambda a, b: a.transpose(0, 2, 1) @ b,
        ((4, 8, 8, 8), (8, 256, 128, 512), (16, 512, 256, 1024)),
        lambda e, k, m, n: {"a": normal(e, k, m), "b": normal(e, k, n)},
    ),
    Bench(
        "scan",
        kernels.scan,
        scan,
        ((8, 8), (128, 2048), (512, 8192)),
        lambda m, n: {"a": normal(m, n) * np.float32(0.5), "b": normal(m, n)},
    ),
)


def best(action: Callable[[], object], repeat: int, clock: Callable[[], float]) -> float:
    """The shortest time of ``repeat`` runs; short ones are run again until they take long enough to be timed."""
    times, rounds = [], 1
    for _ in range(repeat):
        while True:
            started = clock()
            for _ in range(rounds):
                action()
            taken = clock() - started
            if taken > 0.01:
                break
            rounds *= 4
        times.append(taken / rounds)
    return min(times)


def measured(bench: Bench, size: tuple[int, ...], repeat: int, clock: Callable[[], float]) -> Row:
    arguments = bench.arguments(*size)
    arrays = {name: value for name, value in arguments.items() if isinstance(value, np.ndarray)}
    launch = launch_beta2 if bench.beta2 else launch_beta1
    expected = bench.expression(**arrays)
    run = launch(bench.kernel, arguments, record=True)
    np.testing.assert_allclose(run.outputs[0], expected, rtol=1e-3, atol=1e-3)
    instructions = len(run.machines[0].events)
    return Row(
        bench.name,
        size,
        best(lambda: bench.expression(**arrays), repeat, clock),
        best(lambda: launch(bench.kernel, arguments), repeat, clock),
        best(lambda: launch(bench.kernel, arguments, record=True), repeat, clock),
        instructions,
    )


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--cpu", action="store_true", help="processor time instead of time")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(argv)
    clock = time.process_time if options.cpu else time.perf_counter
    rows = []
    print(
        f"{'kernel':18} {'size':>22} {'numpy ms':>9} {'emul. ms':>9} {'ratio':>7} {'instr.':>7} {'us/instr.':>9} rec."
    )
    for bench in BENCHES:
        if options.only not in bench.name:
            continue
        for size in bench.sizes:
            row = measured(bench, size, options.repeat, clock)
            rows.append((row, bench.sizes.index(size)))
            print(
                f"{row.name:18} {' x '.join(map(str, size)):>22} {row.numpy * 1e3:9.3f} {row.emulator * 1e3:9.3f} "
                f"{row.ratio:7.2f} {row.instructions:7} {row.microseconds:9.1f} {row.recording:.2f}",
                flush=True,
            )
    largest = [row for row, at in rows if at == 2]
    smallest = [row for row, at in rows if at == 0]
    print(f"emulator / NumPy at the largest size, geometric mean: {mean([row.ratio for row in largest]):.2f}")
    print(
        f"us per instruction at the smallest size, geometric mean: {mean([row.microseconds for row in smallest]):.1f}"
    )
    print(f"recording on / off, geometric mean: {mean([row.recording for row, _ in rows]):.2f}")
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(row) for row, _ in rows], indent=1))
    return 0


def mean(values: list[float]) -> float:
    return math.exp(sum(math.log(value) for value in values) / len(values))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
