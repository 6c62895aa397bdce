"""How the front end binds the arguments of its built-in functions: by the table of names, with its own messages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

from ..errors import KernelError
from ..spec import beta2
from . import state

R = TypeVar("R")


@dataclass(frozen=True)
class _Plan:
    """One function in one version: its parameters in positional order, and which are refused, accepted, required."""

    names: tuple[str, ...]
    refused: frozenset[str]
    accepted: frozenset[str]
    required: frozenset[str]
    entry: beta2.Symbol


def builtin(module: str) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Make the decorated function the built-in ``<module>.<its name>``.

    Positional arguments go where the front end of the running version puts them (``mask`` has a place of its own),
    then the function is called with keywords only. Raises :class:`KernelError` for calls that the front end refuses.
    """

    def decorate(function: Callable[..., R]) -> Callable[..., R]:
        plans: dict[str, _Plan] = {}
        name = function.__name__

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> R:
            version = state.version()
            plan = plans.get(version)
            if plan is None:
                plan = plans.setdefault(version, _plan(f"{module}.{name}", version))
            bound = kwargs
            if args:
                bound = dict(zip(plan.names, args, strict=False))
                if len(args) > len(plan.names) or not bound.keys().isdisjoint(kwargs):
                    _refuse(plan, name, args, kwargs)
                bound |= kwargs
            if not (bound.keys() <= plan.accepted and bound.keys() >= plan.required):
                _refuse(plan, name, args, kwargs)
                bound = {key: value for key, value in bound.items() if key not in plan.refused}
            return function(**bound)

        return call

    return decorate


def _plan(qualified: str, version: str) -> _Plan:
    entry = beta2.symbol(qualified, version)
    if entry is None or entry.parameters is None:
        raise KernelError("", f"unimplemented API {qualified}")
    return _Plan(
        tuple(p.name for p in entry.parameters),
        frozenset(p.name for p in entry.parameters if p.refused),
        frozenset(entry.accepted()),
        frozenset(entry.required()),
        entry,
    )


def _refuse(plan: _Plan, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise what the front end says to this call; ``mask=None`` is fine."""
    given = {**dict(zip(plan.names, args, strict=False)), **kwargs}
    none = [key for key, value in given.items() if value is None]
    problems = beta2.call_problems(plan.entry, len(args), list(kwargs), name, none)
    if problems:
        raise KernelError("", problems[0])
