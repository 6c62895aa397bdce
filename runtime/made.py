"""Kernels that a function of the host makes: it is called, and what it gives is called until that launches a kernel.

So the case of a factory runs in both versions, whether it gives the kernel, a ``functools.partial`` of it, or a
function that launches it with more arguments or on a grid of its own.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from .arguments import argument
from .cases import Case, CaseError

_WATCHING: ContextVar[bool] = ContextVar("_WATCHING", default=False)


@dataclass
class Launched(BaseException):  # it ends the host code, and is no error
    """The first launch of a kernel object: with these values of its parameters, on this grid."""

    kernel: Any
    values: dict[str, Any]
    grid: tuple[int, ...]


def launching(kernel: Any, values: Mapping[str, Any], grid: tuple[int, ...]) -> None:
    """Host code launches a kernel: raises :class:`Launched` where one is waited for."""
    if _WATCHING.get():
        raise Launched(kernel, dict(values), grid)


@contextmanager
def _watching() -> Iterator[None]:
    token = _WATCHING.set(True)
    try:
        yield
    finally:
        _WATCHING.reset(token)


def launched_by(module: ModuleType, case: Case, dialect: str) -> Launched:
    """The launch that the case of a factory comes to. Raises :class:`CaseError` where it comes to none."""
    factory = getattr(module, case.kernel, None)
    if not callable(factory):
        raise CaseError(f"{module.__file__} has no function '{case.kernel}' that could make a kernel")
    given = {name: argument(case, name, value, dialect, module) for name, value in (case.make or {}).items()}
    values = {name: argument(case, name, value, dialect, module) for name, value in case.args.items()}
    made = _launchable(factory(**given))
    if made is None:
        raise CaseError(f"'{case.kernel}' gives nothing that could be launched")
    try:
        with _watching():
            _on_grid(made, case.grid)(**values)
    except Launched as found:
        return found
    raise CaseError(f"what '{case.kernel}' gives launches no kernel")


def _launchable(made: Any) -> Any:
    """What a factory gives; of several values the first that can be called."""
    items = made if isinstance(made, (tuple, list)) else (made,)
    return next((item for item in items if callable(item)), None)


def _on_grid(made: Any, grid: tuple[int, ...]) -> Any:
    """A kernel with its grid: a partial hands it on to the kernel's own parameter."""
    if not grid:
        return made
    if isinstance(made, functools.partial):
        return functools.partial(made, grid=grid)
    if not hasattr(made, "__getitem__"):
        raise CaseError("a function that launches its kernel itself takes no grid")
    return made[grid if len(grid) > 1 else grid[0]]
