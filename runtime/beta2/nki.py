"""``nki``: the decorator, and what Beta 2 does not have."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import update_wrapper
from typing import Any

import numpy as np

from .. import recording, session
from ..errors import KernelError
from ..spec import hardware
from .launch import launch

_INSTANCES = {target.instance: target for target in hardware.TARGETS.values()} | hardware.TARGETS
_INSTANCES |= {"inf2": hardware.TARGETS["gen2"], "trn1n": hardware.TARGETS["gen2"], "trn2n": hardware.TARGETS["gen3"]}


class JitKernel:
    """A kernel: ``kernel(arrays...)`` and ``kernel[lnc](arrays...)`` run it on the emulator.

    ``func`` is the decorated function. Called from another kernel it is inlined.
    """

    def __init__(self, func: Callable[..., Any], options: dict[str, Any], grid: tuple[int, ...] = ()) -> None:
        self.func, self.options, self.grid = func, options, grid
        update_wrapper(self, func)

    def __getitem__(self, grid: int | tuple[int, ...]) -> JitKernel:
        return JitKernel(self.func, self.options, grid if isinstance(grid, tuple) else (grid,))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if session.in_kernel():
            return self.func(*args, **kwargs)
        bound = inspect.signature(self.func).bind(*args, **kwargs)
        given = dict(bound.arguments)
        bound.apply_defaults()
        arguments = {name: _as_array(value) for name, value in bound.arguments.items()}
        with recording.launched(self.func, given, self.grid, self.target, writes=False):
            run = launch(self.func, arguments, grid=self.grid, target=self.target)
        if not run.outputs:
            return None
        return run.outputs[0] if len(run.outputs) == 1 else tuple(run.outputs)

    @property
    def target(self) -> hardware.Target:
        """The hardware that ``platform_target`` names."""
        wanted = self.options.get("platform_target") or hardware.DEFAULT_TARGET
        if wanted not in _INSTANCES:
            raise KernelError("", f"unknown platform_target '{wanted}', known are {', '.join(sorted(_INSTANCES))}")
        return _INSTANCES[wanted]


def _as_array(value: Any) -> Any:
    if hasattr(value, "__array__") and not isinstance(value, (np.ndarray, np.generic)):
        return np.asarray(value)
    return value


def jit(func: Callable[..., Any] | None = None, mode: str = "auto", **kwargs: Any) -> Any:
    """Make a kernel of a function; ``platform_target`` (``trn1``, ``trn2``, ``trn3``) chooses the hardware."""
    options = {"mode": mode, **kwargs}
    if func is None:
        return lambda function: JitKernel(function, options)
    return JitKernel(func.func if isinstance(func, JitKernel) else func, options)


def _absent(name: str) -> Callable[..., Any]:
    def refuse(*args: object, **kwargs: object) -> Any:
        raise NotImplementedError(f"nki.{name} is not implemented in Beta 2")

    refuse.__name__ = name
    return refuse


MEMBERS: dict[str, Any] = {
    "jit": jit,
    "dtype": np.dtype,
    **{name: _absent(name) for name in ("baremetal", "benchmark", "profile", "simulate_kernel")},
}
