"""TileLang-Ascend behind the port of :mod:`nki_migrate.runtime.dialect`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..arguments import argument
from ..compare.trace import Run
from ..dialect import Frontend, Launch
from .language import PrimFunc
from .launch import launch
from .modules import Factory


def _function(candidate: object) -> Callable[..., Any] | None:
    return candidate.func if isinstance(candidate, (PrimFunc, Factory)) else None


def _launch(asked: Launch) -> Run:
    kernel, case = asked.kernel, asked.case
    assert isinstance(kernel, (PrimFunc, Factory))
    values = {name: argument(case, name, value, "", asked.module) for name, value in case.args.items()}
    return launch(kernel, values, asked.hardware)


FRONTEND = Frontend("ascend", "ascend", _function, lambda kernel: False, _launch, lambda run, name: ())
