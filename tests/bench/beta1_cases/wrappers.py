"""How the parts of a checkout that are no kernels by themselves are launched."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import neuronxcc.nki as nki
import numpy as np

LAUNCHED = Path(__file__).parent / "launched"
"""Kernels of ours around parts of a larger kernel, in files that are called ``launch_`` and the name of the part's."""


def launched(module: ModuleType) -> ModuleType:
    """Our kernels around the parts in ``module``: those that lie beside it, else those of :data:`LAUNCHED`."""
    sys.path.append(str(LAUNCHED))
    return importlib.import_module(f"launch_{module.__name__}")


def written(function: Any, *outputs: tuple[int, ...], grid: Any = None, dtype: Any = np.float32) -> Any:
    """Runs a kernel of the old style, whose last parameters are its outputs; they start as NaNs."""

    def run(*inputs: Any, **options: Any) -> Any:
        kernel = nki.jit(getattr(function, "func", function), mode="trace", kernel_return=False)
        made = [np.full(shape, np.nan, np.float32).astype(dtype) for shape in outputs]
        (kernel if grid is None else kernel[grid])(*inputs, *made, **options)
        return made[0] if len(made) == 1 else made

    return run
