"""Kernels of nki-library whose own tests are too large for the emulator, at sizes of ours.

    python tests/bench/small_kernels.py CHECKOUT [NAME...]

Cross entropy against NumPy; the blockwise matmul of mixtures of experts with the inputs and the reference that the
checkout's own test makes, for few tokens and experts. One line a case: verdict, time, shapes, largest error.
"""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

UNDER = "NKI_MIGRATE_SMALL_KERNELS"
Compared = Iterator[tuple[str, Any, Any, float]]
"""Name of an output, the kernel's, the reference's, and the error that is allowed, of the largest number."""


def main(checkout: Path, names: list[str]) -> int:
    """Run the kernels under ``nki-migrate emulate``; 1 if one does not agree."""
    if UNDER in os.environ:
        verdicts = [_agrees(name, CASES[name]) for name in names or CASES]
        return 0 if all(verdicts) else 1
    here = Path(__file__).resolve().parent
    path = [str(here), str(checkout), str(checkout / "src"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path)), UNDER: "1"}
    command = [sys.executable, "-m", "nki_migrate", "emulate", "--", sys.executable, __file__, str(checkout), *names]
    return subprocess.run(command, env=environment, check=False).returncode


def _agrees(name: str, case: Callable[[], Compared]) -> bool:
    start = time.monotonic()
    try:
        lines = [(*_error(*compared[1:3]), *compared) for compared in case()]
    except Exception as error:
        print(f"error      {time.monotonic() - start:6.1f} s  {name}  {type(error).__name__}: {error}")
        traceback.print_exc(limit=-3)
        return False
    good = all(error <= allowed for error, _, _, _, _, allowed in lines)
    told = ", ".join(f"{output} {shape} {error:.2g} of {allowed:g}" for error, shape, output, _, _, allowed in lines)
    print(f"{'agrees' if good else 'differs':10} {time.monotonic() - start:6.1f} s  {name}  {told}", flush=True)
    return good


def _error(found: Any, wanted: Any) -> tuple[float, list[int]]:
    """The largest difference, of the largest number of ``wanted``."""
    import numpy as np

    a, b = np.asarray(found, np.float32), np.asarray(wanted, np.float32)
    if a.shape != b.shape:
        return float("inf"), list(a.shape)
    return float(np.max(np.abs(a - b)) / (np.max(np.abs(b)) or 1.0)), list(a.shape)


def _logits(positions: int, vocabulary: int) -> tuple[Any, Any, Any, Any]:
    import numpy as np

    source = np.random.default_rng(0)
    logits = source.standard_normal((positions, vocabulary)).astype(np.float32)
    targets = source.integers(0, vocabulary, positions).astype(np.int32)
    top = logits.max(axis=1, keepdims=True)
    lse = (top[:, 0] + np.log(np.exp(logits - top).sum(axis=1))).astype(np.float32)
    return logits, targets, lse, np.arange(positions)


def _forward(grid: int) -> Compared:
    import nki.language as nl
    from nkilib_src.nkilib.core.loss.cross_entropy import cross_entropy_forward

    logits, targets, lse, rows = _logits(70, 3000)
    sizes = {"positions_per_batch": 32, "chunk_size": 1024, "dtype": nl.float32}
    loss, state = cross_entropy_forward[grid](logits, targets, **sizes)
    yield "loss", loss, lse - logits[rows, targets], 1e-5
    yield "lse", state, lse, 1e-5


def _backward(reduction: str, inplace: bool) -> Compared:
    import nki.language as nl
    import numpy as np
    from nkilib_src.nkilib.experimental.loss.cross_entropy import cross_entropy_backward

    logits, targets, lse, rows = _logits(70, 3000)
    sizes = {"positions_per_batch": 32, "chunk_size": 1024, "dtype": nl.float32}
    gradient = cross_entropy_backward[2](logits, targets, lse, reduction=reduction, inplace=inplace, **sizes)
    wanted = np.exp(logits - lse[:, None])
    wanted[rows, targets] -= 1
    yield "gradient", gradient, wanted / (len(rows) if reduction == "mean" else 1), 1e-5


def _blockwise(skip: int, scaling: str, top_k: int) -> Compared:
    import nki.language as nl
    from real_kernels import _EmptyModules

    sys.meta_path.insert(0, _EmptyModules())
    test = importlib.import_module("test.integration.nkilib.experimental.moe.test_bwmm_shard_on_H")
    mode = getattr(test.ExpertAffinityScaleMode, scaling)
    sizes = {"tokens": 200, "hidden": 1024, "intermediate": 64, "expert": 3, "block_size": 128, "top_k": top_k}
    options = {**sizes, "dtype": nl.float32, "dma_skip": test.map_skip_mode(skip), "scaling_mode": mode}
    inputs, _, _ = test.build_bwmm_shard_h_inputs(**options)
    (wanted,) = test.golden_bwmm_shard_h(inputs, **options).values()
    output = test.blockwise_mm_baseline_shard_hidden[2](**inputs)
    yield "output", output[: sizes["tokens"]], wanted[: sizes["tokens"]], 1e-4


CASES: dict[str, Callable[[], Compared]] = {
    "cross_entropy_forward 1 core": lambda: _forward(1),
    "cross_entropy_forward 2 cores": lambda: _forward(2),
    "cross_entropy_backward mean": lambda: _backward("mean", inplace=False),
    "cross_entropy_backward sum": lambda: _backward("sum", inplace=False),
    "cross_entropy_backward in place": lambda: _backward("mean", inplace=True),
    "bwmm_shard_on_H": lambda: _blockwise(0, "POST_SCALE", 2),
    "bwmm_shard_on_H skips tokens": lambda: _blockwise(1, "POST_SCALE", 2),
    "bwmm_shard_on_H scales before": lambda: _blockwise(0, "PRE_SCALE", 1),
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("names", nargs="*", help=f"cases: {', '.join(CASES)}")
    given = parser.parse_args()
    sys.exit(main(given.checkout.resolve(), given.names))
