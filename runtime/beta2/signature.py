"""How the front end binds the arguments of its built-in functions: by the table of names, with its own messages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, wraps
from typing import Any, TypeVar

from ..errors import KernelError
from ..spec import beta2
from .state import version

R = TypeVar("R")


@dataclass(frozen=True)
class _Plan:
    """One function in one version: its parameters in positional order, and which are refused, accepted, required."""

    names: tuple[str, ...]
    refused: frozenset[str]
    accepted: frozenset[str]
    required: frozenset[str]
    entry: beta2.Symbol

    def allows(self, names: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Is nothing wrong with a call, whatever the values are? ``names`` are those of ``args``."""
        given = {*names, *kwargs}
        return len(given) == len(args) + len(kwargs) and self.required <= given <= self.accepted


def builtin(module: str) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Make the decorated function the built-in ``<module>.<its name>``.

    Positional arguments go where the front end of the running version puts them (``mask`` has a place of its own),
    then the function is called with keywords only. Raises :class:`KernelError` for calls that the front end refuses.
    """

    def decorate(function: Callable[..., R]) -> Callable[..., R]:
        legal: dict[tuple[object, ...], tuple[str, ...]] = {}  # the forms of calls that nothing is wrong with
        name = function.__name__

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> R:
            form = (version(), len(args), *kwargs)
            names = legal.get(form)
            if names is None:
                plan = _plan(f"{module}.{name}", version())
                names = plan.names[: len(args)]
                if not plan.allows(names, args, kwargs):
                    _refuse(plan, name, args, kwargs)
                    bound = {**dict(zip(names, args, strict=False)), **kwargs}
                    return function(**{key: value for key, value in bound.items() if key not in plan.refused})
                legal[form] = names
            if args:
                kwargs.update(zip(names, args, strict=True))
            return function(**kwargs)

        return call

    return decorate


@cache
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
