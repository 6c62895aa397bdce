"""``neuronxcc.nki``: ``jit`` and its relatives. All of them run the kernel on the emulator."""

from __future__ import annotations

import ast
import functools
import inspect
import os
import time
from collections.abc import Callable
from typing import Any

from .. import recording
from ..absent import Placeholder
from ..errors import KernelError, NotModelled
from ..host import host_target
from ..made import launching
from ..session import PRECISIONS, in_kernel
from ..source import function_source
from . import execution
from .rewriting import rewritten

PRECISION = "NKI_MIGRATE_PRECISION"
"""Environment variable: the precision of all kernels that a program calls (``engine`` or ``simulator``)."""


class Kernel:
    """A kernel: called with numpy arrays it runs, called by another kernel it is traced into it.

    ``options`` are the keywords of ``nki.jit`` with ``mode``; compiler decorators add theirs.
    """

    def __init__(self, func: Callable[..., Any], options: dict[str, Any], grid: tuple[int, ...] | None = None) -> None:
        self.func = func
        self.options = options
        self.grid = grid
        self.mode = options.get("mode", "auto")
        self.benchmark_result: Benchmark | None = None
        functools.update_wrapper(self, func)
        self.__signature__ = inspect.signature(func)
        # Without it, test runners do not take a kernel called test_* for the function that it wraps.
        self.__dict__.pop("__wrapped__")

    @property
    def new_style(self) -> bool:
        """Does the kernel return its outputs (and may not write to parameters)?"""
        return bool(self.options.get("kernel_return", True)) and bool(self.options)

    def __getitem__(self, grid: Any) -> Kernel:
        """The kernel with a launch grid."""
        extents = tuple(grid) if isinstance(grid, (tuple, list)) else (grid,)
        return _Launcher(self, tuple(int(n) for n in extents))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if in_kernel():
            if self.grid is not None:
                raise KernelError(
                    "err_nested_kernel_with_spmd_grid",
                    f"Calling kernel with spmd grid ({self.func.__name__}{list(self.grid)}) inside another kernel is "
                    "not supported",
                )
            return rewritten(self.func)(*args, **kwargs)
        return self._run(args, kwargs)

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        bound = self.__signature__.bind(*args, **kwargs)
        started = time.perf_counter()
        precision = host_precision(self.mode)
        grid, target = self.grid or (), host_target(self.options)
        launching(self, bound.arguments, grid)
        with recording.launched(self.func, bound.arguments, grid, target, writes=not self.new_style):
            result = execution.run(self, bound, grid, target, precision=precision)
        self.benchmark_result = Benchmark((time.perf_counter() - started) * 1e6)
        return result.returned

    def with_options(self, **options: Any) -> Kernel:
        return Kernel(self.func, {**self.options, **options}, self.grid)

    def simulated(self) -> Kernel:
        """This kernel as the documented simulator runs it: bf16 and fp8 tiles keep fp32 precision."""
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        made.mode = "simulation"
        return made

    def __repr__(self) -> str:
        return f"<kernel {self.func.__name__}>"


class _Launcher(Kernel):
    """A kernel with a grid. Its measurements are found on the kernel, too."""

    def __init__(self, kernel: Kernel, grid: tuple[int, ...]) -> None:
        super().__init__(kernel.func, kernel.options, grid)
        self._kernel = kernel

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        returned = super()._run(args, kwargs)
        self._kernel.benchmark_result = self.benchmark_result
        return returned


class Benchmark:
    """``benchmark_result``: the time that the emulator took, in microseconds. It says nothing about hardware."""

    def __init__(self, microseconds: float) -> None:
        self.nc_latency = Latency(microseconds)


class Latency:
    def __init__(self, microseconds: float) -> None:
        self.microseconds = microseconds

    def get_latency_percentile(self, percentile: int) -> float:
        """The one measured time, whatever the percentile."""
        if not 0 <= percentile <= 100:
            raise ValueError(f"percentile {percentile} is not between 0 and 100")
        return self.microseconds


def host_precision(mode: str) -> str:
    """The precision of a kernel that a program calls: the environment, else the simulator's where it asks for that."""
    wanted = os.environ.get(PRECISION) or ("simulator" if mode == "simulation" else "engine")
    if wanted not in PRECISIONS:
        raise KernelError("", f"{PRECISION} is {wanted!r}, it must be one of {', '.join(PRECISIONS)}")
    return wanted


def jit(func: Any = None, mode: str = "auto", **options: Any) -> Any:
    """Make a function a kernel. ``mode`` and most keywords choose how the compiler runs it and change nothing here."""
    if func is None:
        return lambda function: jit(function, mode, **options)
    if isinstance(func, Placeholder):
        return func
    target = func.func if isinstance(func, Kernel) else func
    return Kernel(target, {**getattr(func, "options", {}), "mode": mode, **options})


def trace(func: Any = None, **options: Any) -> Any:
    """The old decorator: the kernel writes its outputs into parameters."""
    return jit(func, "trace", **{"kernel_return": False, **options})


def torch_jit(func: Any = None, **options: Any) -> Any:
    """``nki_jit`` of torch_neuronx: a kernel without a result writes its outputs into parameters."""
    if func is None:
        return lambda function: torch_jit(function, **options)
    if isinstance(func, (Kernel, Placeholder)):
        return jit(func, "torchxla", **options)
    definition = function_source(func.__code__)
    returns = definition is not None and any(
        isinstance(node, ast.Return) and node.value is not None for node in ast.walk(definition)
    )
    return jit(func, "torchxla", **{"kernel_return": returns, **options})


def baremetal(kernel: Any = None, **options: Any) -> Any:
    """:func:`jit` on a NeuronDevice without a framework."""
    return jit(kernel, "baremetal", **options)


def benchmark(kernel: Any = None, **options: Any) -> Any:
    """:func:`jit` that leaves ``benchmark_result.nc_latency`` on the kernel."""
    return jit(kernel, "benchmark", **options)


def profile(func: Any = None, **options: Any) -> Any:
    """:func:`jit` that would save a profile; nothing is saved here."""
    return jit(func, "profile", **options)


def simulate_kernel(kernel: Any, *args: Any, **kwargs: Any) -> Any:
    """Run a kernel on numpy arrays: returns its outputs, or writes them into its parameters (old style)."""
    made = kernel if isinstance(kernel, Kernel) else Kernel(kernel, {})
    return made.simulated()(*args, **kwargs)


class FrameworkKernel:
    """The base class with which a machine learning framework takes NKI kernels into its own compiler.

    A kernel that is called with arrays needs none of it (:mod:`.host`).
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotModelled("nki.FrameworkKernel, which builds a kernel into the compiler of a framework")

    def dump_config(self, *args: Any, **kwargs: Any) -> Any:
        raise NotModelled("nki.FrameworkKernel.dump_config")

    def is_framework_tensor(self, t: Any) -> bool:
        raise NotModelled("nki.FrameworkKernel.is_framework_tensor")

    def map_framework_tensor(self, t: Any) -> Any:
        raise NotModelled("nki.FrameworkKernel.map_framework_tensor")

    def translate_to_neuron_dtype(self, _dtype: Any) -> Any:
        raise NotModelled("nki.FrameworkKernel.translate_to_neuron_dtype")
