"""The Beta 2 tutorials of nki-samples and of the SDK's documentation on the emulator, against NumPy.

    python tests/bench/tutorials.py SAMPLES SDK

SAMPLES is a checkout of aws-neuron/nki-samples (HEAD), SDK the directory ``nki`` of the documentation at v2.28.0. The
matmul and addition kernels run on the smallest inputs that they allow; the microscaling tutorials run their own top
level with their own references, torch_xla replaced by the CPU. One line a kernel: verdict, shapes, largest error.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

UNDER = "NKI_MIGRATE_TUTORIALS"
MATMULS = {
    "nki_matmul_basic_": (128, 64, 512),
    "nki_matmul_tiled_": (256, 256, 1024),
    "nki_matmul_hoist_load_": (256, 256, 1024),
    "nki_matmul_block_free_dimension_": (256, 256, 1024),
    "nki_matmul_fully_optimized_": (1024, 2048, 1024),
}
"""K, M, N of each kernel: one block, or two tiles in each direction."""


def main(samples: Path, sdk: Path) -> int:
    """Run the tutorials under ``nki-migrate emulate``; 1 if a kernel does not agree."""
    if UNDER in os.environ:
        rows = list(_rows(samples, sdk))
        print(f"{sum(agrees for agrees in rows)} of {len(rows)} agree")
        return 0 if all(rows) else 1
    command = [sys.executable, "-m", "nki_migrate", "emulate", "--", sys.executable, __file__, str(samples), str(sdk)]
    return subprocess.run(command, env={**os.environ, UNDER: "1"}, check=False).returncode


def _rows(samples: Path, sdk: Path) -> Iterator[bool]:
    tutorials = samples / "src/nki_samples/tutorials"
    for root in (tutorials / "matrix_multiplication", sdk / "examples/matrix_multiplication"):
        kernels = _module(root, "matrix_multiplication_nki_kernels")
        for name, (k, m, n) in MATMULS.items():
            yield _run(f"{root}::{name}", lambda kernels=kernels, name=name, s=(k, m, n): _matmul(kernels, name, *s))
    addition = _module(sdk / "examples/tensor_addition", "tensor_addition_nki_kernels")
    yield _run(f"{sdk}/examples/tensor_addition::nki_tensor_add", lambda: _addition(addition.nki_tensor_add))
    yield from _written_out(sdk)
    for root in (tutorials / "mxfp-matmul", sdk / "deep-dives/src/mxfp-matmul"):
        yield from _microscaling(root, tutorials / "mxfp-matmul")


def _module(directory: Path, name: str) -> ModuleType:
    """A fresh import of ``directory/name.py``; both checkouts have modules of the same names."""
    for known in [known for known in sys.modules if known.startswith(("mx_", "matrix_", "tensor_addition", name))]:
        del sys.modules[known]
    sys.path.insert(0, str(directory))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(directory))


def _run(name: str, job: Callable[[], tuple[str, float, float]]) -> bool:
    start = time.monotonic()
    try:
        shapes, error, tolerance = job()
        agrees, told = error <= tolerance, f"{shapes} max error {error:.3g} of the range, allowed {tolerance:g}"
    except Exception as problem:
        agrees, told = False, traceback.format_exception_only(problem)[-1].strip()
    print(f"{'agrees' if agrees else 'DIFFERS':8}{time.monotonic() - start:6.1f} s  {name}  {told}", flush=True)
    return agrees


def _relative(found: Any, expected: Any) -> float:
    import numpy as np

    found, expected = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    return float(np.max(np.abs(found - expected)) / np.max(np.abs(expected)))


def _matmul(kernels: ModuleType, name: str, k: int, m: int, n: int) -> tuple[str, float, float]:
    import ml_dtypes
    import numpy as np

    rng = np.random.default_rng(0)
    left, right = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((k, m), (k, n)))
    expected = left.astype(np.float64).T @ right.astype(np.float64)
    return f"[{k}, {m}] x [{k}, {n}] bf16", _relative(getattr(kernels, name)(left, right), expected), 2.0**-8


def _addition(kernel: Callable[..., Any]) -> tuple[str, float, float]:
    import numpy as np

    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((256, 1024)).astype(np.float32) for _ in range(2))
    return "[256, 1024] f32", _relative(kernel(a, b), a + b), 0.0


def _written_out(sdk: Path) -> Iterator[bool]:
    """Kernels that the documentation prints in full: the quickstart and the optimization tutorial."""
    import numpy as np

    quickstart = _listings(sdk / "get-started/quickstart-implement-run-kernel.rst", "nki_tensor_add_kernel")
    ones = np.ones((4, 3), np.float16)
    for place, kernel in quickstart:
        yield _run(place, lambda kernel=kernel: ("[4, 3] f16", _relative(kernel(ones, ones), ones + ones), 0.0))
    optimization = _listings(sdk / "guides/tutorials/kernel-optimization.rst", "matrix_multiply_kernel")
    for step, (place, kernel) in enumerate(optimization):
        job, (k, m, n) = SimpleNamespace(matrix_multiply_kernel=kernel), (1024, 2048, 1024) if step else (128, 128, 512)
        yield _run(place, lambda job=job, s=(k, m, n): _matmul(job, "matrix_multiply_kernel", *s))


def _listings(file: Path, kernel: str) -> Iterator[tuple[str, Any]]:
    """(place, kernel) of each code block of a page that defines ``kernel`` and imports what it needs."""
    text = file.read_text()
    for block in re.finditer(r"^( *)\.\. code-block:: python\n((?:(?:\1 +.*)?\n)+)", text, re.MULTILINE):
        lines = [line for line in block[2].splitlines() if not re.match(r"\s*:\w+:", line)]
        indent = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
        source = "\n".join(line[indent:] for line in lines)
        if f"def {kernel}(" not in source or "import nki" not in source:
            continue
        line = text[: block.start()].count("\n") + 1
        space: dict[str, Any] = {}
        exec(compile("\n" * line + source, str(file), "exec"), space)
        yield f"{file}:{line}::{kernel}", space[kernel]


def _microscaling(root: Path, references: Path) -> Iterator[bool]:
    """The runs of ``mx_toplevel``; the comparison is ours, under its tolerance."""
    import torch

    sys.modules["torch_xla"] = ModuleType("torch_xla")
    os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"] = "trn3"
    sys.path.append(str(references))
    top = _module(root, "mx_toplevel")
    sys.path.remove(str(references))
    top.device = torch.device("cpu")
    top.setup_compiler_workdir = top.print_test_header = lambda *args: None
    compared: list[float] = []
    top.compare_and_print_results = lambda result, golden, *args: compared.append(_relative(result, golden))
    lines = (root / "mx_toplevel.py").read_text().partition('if __name__ == "__main__":')[2].splitlines()
    for call in (line.strip().partition("#")[0].strip() for line in lines):
        if not call.startswith("run_"):
            continue

        def job(call: str = call) -> tuple[str, float, float]:
            compared.clear()
            eval(call, vars(top))
            return "", max(compared), 5e-2

        yield _run(f"{root}::{call}", job)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("samples", type=Path, metavar="SAMPLES")
    parser.add_argument("sdk", type=Path, metavar="SDK")
    options = parser.parse_args()
    sys.exit(main(options.samples.resolve(), options.sdk.resolve()))
