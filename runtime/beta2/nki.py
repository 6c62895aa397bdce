"""``nki``: the decorator, and what Beta 2 does not have."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Iterator
from functools import update_wrapper
from typing import Any

from .. import absent, recording, session
from ..errors import KernelError
from ..host import framework_array, host_target, returner
from ..made import launching
from ..spec.versions import DEFAULT, LATER, NAMES, Version, version
from .launch import launch

VERSION = "NKI_MIGRATE_TARGET"
"""Environment variable: the NKI version of the kernels that a program calls. Not set: ``spec.versions.DEFAULT``."""


class JitKernel:
    """A kernel: ``kernel(arrays...)`` and ``kernel[lnc](arrays...)`` run it on the emulator.

    Called with tensors of torch or JAX it gives back such tensors. ``platform_target``, or the vendor's environment
    variable, chooses the hardware. ``func`` is the decorated function. Called from another kernel it is inlined.
    """

    def __init__(self, func: Callable[..., Any], options: dict[str, Any], grid: tuple[int, ...] = ()) -> None:
        self.func, self.options, self.grid = func, options, grid
        update_wrapper(self, func)

    def __getitem__(self, grid: int | tuple[int, ...]) -> JitKernel:
        return JitKernel(self.func, self.options, grid if isinstance(grid, tuple) else (grid,))

    def with_schedule(self, edges: Iterable[tuple[str, str | Iterable[str]]]) -> JitKernel:
        """The kernel with more edges, ``(later, earlier)``, by the names of instructions.

        They only order what may run in any order, and the emulator runs instructions in the order of the source.
        """
        for pair in edges:
            if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not isinstance(pair[0], str):
                raise KernelError("", f"an edge of with_schedule is a pair of names, not {pair!r}")
        return JitKernel(self.func, self.options, self.grid)

    def check_options(self, at: Version) -> None:
        """Raise for an option of the decorator that NKI ``at`` does not take."""
        if at in LATER and "platform_target" in self.options:
            raise KernelError(
                "",
                f"nki.jit takes no platform_target in NKI {at}: NEURON_PLATFORM_TARGET_OVERRIDE says it",
            )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if session.in_kernel():
            return self.func(*args, **kwargs)
        bound = inspect.signature(self.func).bind(*args, **kwargs)
        given = dict(bound.arguments)
        launching(self, given, self.grid)
        bound.apply_defaults()
        arguments = {name: _as_arrays(value) for name, value in bound.arguments.items()}
        self.check_options(host_version())
        target = host_target(self.options)
        with recording.launched(self.func, given, self.grid, target, writes=False):
            run = launch(self.func, arguments, grid=self.grid, target=target, version=host_version())
        given_back = returner(list(_leaves(given.values())))
        outputs = [given_back(output) for output in run.outputs]
        if not outputs:
            return None
        return outputs[0] if len(outputs) == 1 else tuple(outputs)


def host_version() -> Version:
    """The NKI version that kernels which a program calls run as: the environment's, or the newest."""
    wanted = os.environ.get(VERSION, DEFAULT.name)
    if wanted not in NAMES:
        raise KernelError("", f"{VERSION} is {wanted!r}, it must be one of {', '.join(NAMES)}")
    return version(wanted)


def _leaves(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _leaves(value)
        else:
            yield value


def _as_arrays(value: Any) -> Any:
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(_as_arrays(item) for item in value)
    array = framework_array(value)
    return value if array is None else array


def jit(func: Callable[..., Any] | None = None, mode: str = "auto", *, fn: Any = None, **kwargs: Any) -> Any:
    """Make a kernel of a function; ``platform_target`` (``trn1``, ``trn2``, ``trn3``) chooses the hardware."""
    options = {"mode": mode, **kwargs}
    func = fn if func is None else func
    if func is None:
        return lambda function: JitKernel(function, options)
    return JitKernel(func.func if isinstance(func, JitKernel) else func, options)


def simulate(kernel: Callable[..., Any]) -> Any:
    """0.3: what runs ``kernel`` on the CPU, called like the kernel. Here every kernel does."""
    if host_version() not in LATER:
        raise NotImplementedError(f"nki.simulate is of NKI {LATER.since}: set {VERSION}={LATER.since}")
    return kernel if isinstance(kernel, JitKernel) else jit(kernel)


def _simulate_kernel(*args: object, **kwargs: object) -> Any:
    raise NotImplementedError("nki.simulate_kernel is not implemented in Beta 2")


MEMBERS: dict[str, Any] = {
    "jit": jit,
    **{name: absent.harness(f"nki.{name}") for name in ("baremetal", "benchmark", "profile")},
    "simulate_kernel": _simulate_kernel,
}
