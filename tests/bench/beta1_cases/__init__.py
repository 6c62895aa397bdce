"""Small inputs and NumPy references for the public Beta 1 kernels of a checkout, by file and kernel.

A case is a function that gets the loaded module of the checkout, calls one of its kernels, and yields a
:class:`Compared` for each output. The references are ours; nothing of the checkout is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Compared:
    """One output: the largest error as a fraction of the expected range, and what is allowed of it."""

    what: str
    error: float
    allowed: float

    @property
    def agrees(self) -> bool:
        return self.error <= self.allowed


@dataclass(frozen=True)
class Case:
    """``kernels`` of the file that ends with ``path`` run with ``run``; ``slow`` ones only when asked for."""

    path: str
    kernels: tuple[str, ...]
    run: Callable[[ModuleType], Iterator[Compared]]
    slow: bool = False


CASES: list[Case] = []
NOT_RUN: dict[tuple[str, str], str] = {}
"""Why a function has no case: by the end of its file's path, and its name."""
MENDED: dict[str, tuple[str, str]] = {}
"""What has to be written otherwise for the kernels of a file to run: by the end of its path."""


def case(path: str, *kernels: str, slow: bool = False) -> Callable[[Any], Any]:
    """Register a function as the case of ``kernels`` (with several, it gets each one's name as second argument)."""

    def registered(run: Any) -> Any:
        if len(kernels) == 1:
            CASES.append(Case(path, kernels, run, slow))
        else:
            CASES.extend(Case(path, (name,), lambda module, name=name: run(module, name), slow) for name in kernels)
        return run

    return registered


def mended(path: Path) -> str:
    """The text of a file of a checkout as its kernels run."""
    text = path.read_text()
    for end, (written, meant) in MENDED.items():
        if str(path).endswith(end):
            text = text.replace(written, meant)
    return text


def compared(what: str, found: Any, expected: Any, allowed: float) -> Compared:
    """The largest error of ``found`` against ``expected``, relative to the largest number in ``expected``."""
    found, expected = np.asarray(found).astype(np.float64), np.asarray(expected, np.float64)
    if found.shape != expected.shape:
        raise AssertionError(f"{what}: shape {found.shape}, the reference has {expected.shape}")
    error = np.abs(found - expected)
    if not np.isfinite(error).all():
        return Compared(what, float("inf"), allowed)
    return Compared(what, float(error.max(initial=0) / (np.abs(expected).max(initial=0) or 1)), allowed)


def normal(*shape: int, seed: int = 0, dtype: Any = np.float32) -> Any:
    """Standard normal numbers of ``shape``, the same ones for the same seed and shape."""
    return np.random.default_rng((seed, *shape)).standard_normal(shape).astype(np.float32).astype(dtype)


def softmax(x: Any, axis: int = -1) -> Any:
    shifted = np.exp(x - x.max(axis=axis, keepdims=True))
    return shifted / shifted.sum(axis=axis, keepdims=True)


BF16 = 2.0**-8
"""Half a unit in the last place of bfloat16, twice: operands of a matmul are rounded once."""
EXACT = 0.0
FP32 = 1e-5
