"""Beta 1 behind the port of :mod:`nki_migrate.runtime.dialect`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..arguments import arguments
from ..compare.trace import Run, form_of, run_of
from ..dialect import Frontend, Launch
from ..hazards import find
from ..spec.hardware import TARGETS
from .launch import launch
from .nki import Kernel


def _function(candidate: object) -> Callable[..., Any] | None:
    return candidate.func if isinstance(candidate, Kernel) else None


def _is_part(kernel: object) -> bool:
    """Is a kernel decorated only to be called from other kernels (``mode="trace"``)?"""
    options = getattr(kernel, "options", {})
    return bool(options.get("mode") == "trace" and options.get("kernel_return", True))


def _launch(asked: Launch) -> Run:
    kernel, case = asked.kernel, asked.case
    assert isinstance(kernel, Kernel)
    values = arguments(case, kernel.func, "beta1", asked.module) if asked.values is None else asked.values
    launched = launch(kernel, values, grid=case.grid, target=TARGETS[asked.hardware], record=True)
    return run_of(launched.outputs, launched.machines, form_of(launched.returned))


FRONTEND = Frontend("beta1", "nki", _function, _is_part, _launch, lambda run, name: find(run, TARGETS[name]))
