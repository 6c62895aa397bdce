"""``emulator.py --full CHECKOUT``: public kernels at the sizes of their own benchmarks, against NumPy.

CHECKOUT is aws-neuron/nki-samples; nothing of it is stored. Each kernel of ``full_kernels.py`` runs in a process of its
own, with recording off; its first output is compared with the NumPy expression before anything is timed. Times are
processor seconds with one BLAS thread, the shortest of ``--repeat`` turns, so that other work on the machine matters
little; the table gives, in one run,

``NumPy``    the expression;
``old``      a launch of the kernel, over that;
``new``      a launch of the kernel as the tool migrates it, over that;
``verify``   ``nki-migrate verify`` of the two (all processes of it: both runs, recorded, hazards, all levels; nothing
             from the cache), over the two launches together. With ``--verify``. To load the tool and the emulator
             takes half a second: the last line is of the kernels that are long beside that.
"""

from __future__ import annotations

import importlib.util
import math
import os
import re
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import threadpoolctl
from absent import missing, stand_in
from full_kernels import FULL, Full, Tensor
from nki_migrate.codemods.model import Options
from nki_migrate.discover import found_files
from nki_migrate.rewriting import rewrite_reports
from nki_migrate.runtime import shims
from nki_migrate.runtime.beta1.launch import launch as launch_beta1
from nki_migrate.runtime.beta2.grids import with_grid_argument
from nki_migrate.runtime.beta2.launch import launch as launch_beta2
from nki_migrate.runtime.cases import Case, NoneSpec, TensorSpec
from nki_migrate.runtime.filling import filled
from nki_migrate.runtime.numerics import DTYPES, to_float32
from nki_migrate.runtime.worker_start import NO_BYTECODE

Array = np.ndarray[Any, Any]
LONG = 0.3
"""Seconds of both launches from which on a kernel is long."""
HEADER = f"{'kernel':42} {'NumPy s':>8} {'old s':>8} {'old':>6} {'new':>6} {'verify s':>9} {'verify':>7}"


@dataclass(frozen=True)
class Row:
    """Processor seconds; ``None`` for what did not run, and why."""

    name: str
    numpy: float = math.nan
    old: float = math.nan
    new: float | None = None
    verify: float | None = None
    trouble: str = ""

    @property
    def line(self) -> str:
        def over(value: float | None, whole: float) -> str:
            return "" if value is None else f"{value / whole:.2f}"

        verify = "" if self.verify is None else f"{self.verify:.2f}"
        both = self.old + (self.new or math.nan)
        return (
            f"{self.name:42} {self.numpy:8.3f} {self.old:8.3f} {over(self.old, self.numpy):>6} "
            f"{over(self.new, self.numpy):>6} {verify:>9} {over(self.verify, both):>7} {self.trouble}"
        )


def main(checkout: Path, *, only: str, repeat: int, slow: bool, verify: bool) -> list[Row]:
    """Measure and print all kernels whose name has ``only`` in it."""
    print(HEADER, flush=True)
    rows = []
    for full in FULL:
        if only in f"{full.path}::{full.kernel}" and (slow or not full.slow):
            rows.append(_in_a_child(lambda full=full: _measured(checkout.resolve(), full, repeat, verify), full))
            print(rows[-1].line, flush=True)
    for what, ratios in (
        ("old / NumPy", [row.old / row.numpy for row in rows if not math.isnan(row.old)]),
        ("new / NumPy", [row.new / row.numpy for row in rows if row.new]),
        ("verify / (old + new)", [row.verify / (row.old + row.new) for row in rows if row.verify and row.new]),
        (
            f"verify / (old + new) of {LONG} s and more",
            [row.verify / both for row in rows if row.verify and row.new and (both := row.old + row.new) >= LONG],
        ),
    ):
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            print(f"{what}: geometric mean {mean:.2f}, largest {max(ratios):.2f}, {len(ratios)} kernels")
    return rows


def _in_a_child(measure: Callable[[], Row], full: Full) -> Row:
    """The row from a fork: what one kernel leaves in memory meets no other."""
    import pickle

    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            row = measure()
        except BaseException as error:
            row = Row(full.kernel, trouble=f"{type(error).__name__}: {error}"[:200])
        with os.fdopen(writing, "wb") as stream:
            pickle.dump(row, stream)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        data = stream.read()
    os.waitpid(child, 0)
    return pickle.loads(data) if data else Row(full.kernel, trouble="the process ended")


def arguments(full: Full) -> dict[str, Any]:
    """The arguments as :mod:`nki_migrate.runtime.arguments` makes them of :func:`case`."""
    return {name: _filled(name, v) if isinstance(v, Tensor) else v for name, v in full.arguments.items()}


def _filled(name: str, tensor: Tensor) -> Array:
    low, high = tensor.bounds or (None, None)
    fill = "uniform" if tensor.bounds else "normal"
    return filled(fill, tensor.shape, DTYPES[tensor.dtype], seed=0, name=name, low=low, high=high)


def case(full: Full, file: Path) -> Case:
    return Case(
        full.kernel, "full size", str(file), grid=full.grid, args={n: _spec(v) for n, v in full.arguments.items()}
    )


def _spec(value: Any) -> Any:
    if isinstance(value, Tensor):
        low, high = value.bounds or (None, None)
        return TensorSpec(value.shape, value.dtype, "uniform" if value.bounds else "normal", low, high)
    return NoneSpec() if value is None else value


def _measured(checkout: Path, full: Full, repeat: int, verify: bool) -> Row:
    file = next(path for path in sorted(checkout.rglob("*.py")) if str(path).endswith(full.path))
    given = arguments(full)
    wide = [to_float32(value) for value in given.values() if isinstance(value, np.ndarray)]
    plain = {name: v for name, v in given.items() if not isinstance(v, np.ndarray) and v is not None}
    sys.path[:0] = [str(file.parent), str(checkout / "src")]
    stand_in(*missing())
    with shims.installed(), threadpoolctl.threadpool_limits(1), np.errstate(all="ignore"):
        module = _module(file)
        kernel = getattr(module, full.kernel)
        expected = full.plain(*wide, **plain)
        wrong = _error(launch_beta1(kernel, given, grid=full.grid).outputs[0], expected)
        if not wrong <= full.error:
            return Row(full.kernel, trouble=f"DIFFERS by {wrong:.2g}")
        del expected
        theirs, old = shortest(
            [lambda: full.plain(*wide, **plain), lambda: launch_beta1(kernel, given, grid=full.grid)], repeat
        )
        row = Row(full.kernel + (f" ({full.note})" if full.note else ""), theirs, old)
        with tempfile.TemporaryDirectory() as folder:
            return _migrated(row, file, full, given, Path(folder), repeat, verify)


def _migrated(row: Row, file: Path, full: Full, given: dict[str, Any], folder: Path, repeat: int, verify: bool) -> Row:
    """``row`` with the times of what the tool makes of a copy of the file (and those beside it)."""
    copy = folder / "copy"
    shutil.copytree(file.parent, copy, ignore=lambda _, names: [n for n in names if not n.endswith(".py")])
    target = copy / file.name
    text = re.sub(r"^@nki.baremetal\(.*?\)$", "@nki.jit", target.read_text(), flags=re.MULTILINE | re.DOTALL)
    if not full.decorated:
        text = text.replace(f"def {full.kernel}(", f"@nki.jit\ndef {full.kernel}(")
    target.write_text(text)
    reports = rewrite_reports(list(found_files([str(target)])), Options(unsafe=True), 1)
    made = folder / "new" / file.name
    made.parent.mkdir()
    made.write_bytes(reports[0].after)
    sys.path.insert(0, str(made.parent))
    try:
        kernel = getattr(_module(made), full.kernel)
        made_case = with_grid_argument(case(full, target), kernel.func)
        extra = {name: value for name, value in made_case.args.items() if name not in full.arguments}
        (new,) = shortest([lambda: launch_beta2(kernel, {**given, **extra}, grid=made_case.grid)], repeat)
    except BaseException as error:
        return Row(row.name, row.numpy, row.old, trouble=f"new: {type(error).__name__}: {error}"[:150])
    if not verify:
        return Row(row.name, row.numpy, row.old, new)
    from nki_migrate.case_text import case_toml

    cases = folder / "cases.toml"
    cases.write_text(case_toml(case(full, target), folder))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = _verified(target, made, cases, full.kernel, max(reports[0].inexact.values(), default=0))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return Row(row.name, row.numpy, row.old, new, seconds, told)


def _verified(before: Path, after: Path, cases: Path, kernel: str, ulps: int) -> str:
    """Run the command; the verdicts. ``ulps`` are what the rewrite declares of divisions (two files do not say)."""
    import json
    import subprocess

    command = [sys.executable, "-m", "nki_migrate", "verify", str(before), str(after), "--cases", str(cases)]
    command += ["--kernel", kernel, "--no-cache", "--output-format", "json", "--timeout", "3000", "--memory", "20000"]
    command += ["--ulps", str(ulps)] if ulps else []
    environment = {name: value for name, value in os.environ.items() if name != NO_BYTECODE}  # as it is installed
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    try:
        results = json.loads(done.stdout)["results"]
        return " ".join(each["verdict"] for each in results)
    except (ValueError, KeyError):
        return (done.stderr or done.stdout).strip()[-150:]


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{path.stem}_{abs(hash(path))}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _error(found: Array, expected: Array) -> float:
    """The largest difference, relative to the largest number; by parts, for arrays of gigabytes."""
    if found.shape != expected.shape:
        return math.inf
    most, largest = 0.0, 0.0
    for one, other in zip(_parts(found), _parts(expected), strict=True):
        most = max(most, float(np.abs(to_float32(one) - other).max(initial=0)))
        largest = max(largest, float(np.abs(other).max(initial=0)))
    return most / (largest or 1)


def _parts(array: Array) -> Iterator[Array]:
    flat = array.reshape(-1)
    return (flat[start : start + (1 << 24)] for start in range(0, flat.size, 1 << 24))


def shortest(actions: list[Callable[[], object]], repeat: int) -> list[float]:
    """Processor seconds of each action: the shortest of some turns; short ones take more turns."""
    found = [math.inf] * len(actions)
    for position, action in enumerate(actions):
        spent, turns = 0.0, 0
        while turns < repeat or (spent < 0.3 and turns < 50):
            started = time.process_time()
            action()
            took = time.process_time() - started
            found[position] = min(found[position], took)
            spent, turns = spent + took, turns + 1
    return found
