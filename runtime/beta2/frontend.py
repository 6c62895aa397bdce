"""Beta 2 behind the port of :mod:`nki_migrate.runtime.dialect`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..arguments import arguments
from ..cases import TensorSpec
from ..compare.trace import Run, form_of, run_of
from ..dialect import Frontend, Launch
from ..hazards import find
from ..spec.hardware import TARGETS
from ..spec.versions import DEFAULT, version
from .grids import with_grid_argument, with_grid_size
from .launch import launch
from .nki import JitKernel


def _function(candidate: object) -> Callable[..., Any] | None:
    return candidate.func if isinstance(candidate, JitKernel) else None


def _launch(asked: Launch) -> Run:
    kernel = asked.kernel
    assert isinstance(kernel, JitKernel)
    at = version(asked.case.target or DEFAULT)
    kernel.check_options(at)
    case = asked.case if asked.values is not None else with_grid_argument(asked.case, kernel.func)
    given = None if asked.values is None else with_grid_size(asked.values)
    values = arguments(case, kernel.func, "beta2", asked.module) if given is None else given
    target = TARGETS[asked.hardware]
    outputs = [name for name, value in case.args.items() if isinstance(value, TensorSpec) and value.output]
    written = outputs if asked.is_part else None
    launched = launch(kernel, values, grid=case.grid, target=target, record=True, version=at, written=written)
    return replace(run_of(launched.outputs, launched.machines, form_of(launched.returned)), version=at.name)


FRONTEND = Frontend(
    "beta2", "nki", _function, lambda kernel: False, _launch, lambda run, name: find(run, TARGETS[name])
)
