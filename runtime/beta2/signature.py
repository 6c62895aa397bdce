"""How the front end binds the arguments of its built-in functions: by the table of names, with its own messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, update_wrapper
from inspect import Parameter, signature
from typing import Any, TypeVar

from .. import session
from ..errors import KernelError
from ..options import exempt_said, options
from ..spec import beta2
from ..spec.beta2_isa import ENUM_MEMBERS
from ..spec.changes import renamed_parameters
from ..spec.comparison import UNSAID
from ..spec.versions import OLDEST, VERSIONS, Version
from .state import version

R = TypeVar("R")
_ABSENT = object()
"""The value of a parameter that a call does not give."""


@dataclass(frozen=True)
class _Plan:
    """One function in one version: its parameters in positional order, and which are refused, accepted, required."""

    names: tuple[str, ...]
    first: dict[str, str]
    """The names of 0.2, which the emulator's functions have, of the parameters that were renamed since."""
    refused: frozenset[str]
    accepted: frozenset[str]
    required: frozenset[str]
    entry: beta2.Symbol

    def emulated(self, given: dict[str, Any]) -> dict[str, Any]:
        """Arguments by the names that the emulator's function has."""
        return {self.first.get(name, name): value for name, value in given.items()}

    def allows(self, names: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Is nothing wrong with a call, whatever the values are? ``names`` are those of ``args``."""
        given = {*names, *kwargs}
        return len(given) == len(args) + len(kwargs) and self.required <= given <= self.accepted


def builtin(module: str) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Make the decorated function the built-in ``<module>.<its name>``.

    Positional arguments go where the front end of the running version puts them (``mask`` has a place of its own).
    Raises :class:`KernelError` for calls that the front end refuses.
    """

    def decorate(function: Callable[..., R]) -> Callable[..., R]:
        told = _noting_options(function)
        judged = _judged(module, told)
        made = _direct(module, function, told, judged)
        return update_wrapper(judged if made is None else made, function)

    return decorate


def _noting_options(function: Callable[..., R]) -> Callable[..., R]:
    """``function``, whose events have the options of each call, and what it was told that is not compared."""
    order = list(signature(function).parameters)
    names = UNSAID.keys() & order

    def call(*args: Any, **given: Any) -> R:
        running = session.RUNNING.get()
        recorder = None if running is None else running.machine.recorder
        if recorder is None:
            return function(*args, **given)
        bound = {**dict(zip(order, args, strict=False)), **given}
        recorder.options = options(**{name: _meant(name, bound[name]) for name in names & bound.keys()})
        since = recorder.begun
        try:
            return function(*args, **given)
        finally:
            recorder.options = ()
            recorder.says(since, exempt_said(function.__name__, bound, version().name))

    return update_wrapper(call, function)


def _meant(name: str, value: Any) -> Any:
    """The member of an enumeration that a number stands for in 0.2; any other value itself."""
    if type(value) is not int:
        return value
    return next((member for member, number in ENUM_MEMBERS.get(name, {}).items() if number == value), value)


def _judged(module: str, function: Callable[..., R]) -> Callable[..., R]:
    """``function`` for all calls: what is given is looked up in the running version's table, once for each form."""
    legal: dict[tuple[object, ...], _Plan] = {}  # the forms of calls that nothing is wrong with
    name = function.__name__

    def call(*args: Any, **kwargs: Any) -> R:
        form = (version(), len(args), *kwargs)
        plan = legal.get(form)
        if plan is None:
            plan = _plan(f"{module}.{name}", version())
            names = plan.names[: len(args)]
            if not plan.allows(names, args, kwargs):
                _refuse(plan, name, args, kwargs)
                bound = {**dict(zip(names, args, strict=False)), **kwargs}
                return function(**plan.emulated({k: value for k, value in bound.items() if k not in plan.refused}))
            legal[form] = plan
        if args:
            kwargs.update(zip(plan.names[: len(args)], args, strict=True))
        return function(**(plan.emulated(kwargs) if plan.first else kwargs))

    return call


@cache
def _plan(qualified: str, version: Version) -> _Plan:
    entry = beta2.symbol(qualified, version)
    if entry is None or entry.parameters is None:
        raise KernelError("", f"unimplemented API {qualified}")
    return _Plan(
        tuple(p.name for p in entry.parameters),
        {new: first for first, new in renamed_parameters(qualified, OLDEST, version).items()},
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


# --- calls that are right in every version ---------------------------------------------------------------------------

_DIRECT = """\
def {name}(*args, {parameters}, **others):
    if BETA1:
        version()  # raises in a kernel of Beta 1
    if args:
        {positional}
        else:
            return judged(*args, **given(({values},)), **others)
    if {missing} or (others and not others.keys() <= optional):
        return judged(*args, **given(({values},), len(args)), **others)
    if others:
        {kept}
        return (told if recording() else function)({required}, **others)
    {option}
    return function({required})
"""


def _sorted_out(function: Callable[..., R], plans: Sequence[_Plan]) -> tuple[list[str], list[str]]:
    """The required parameters, and the others, that all versions have; nothing where a required one is not of all."""
    known = signature(function).parameters
    accepted = [name for name in known if all(name in plan.accepted for plan in plans)]
    wanted = {n for n, p in known.items() if p.default is Parameter.empty}.union(*(plan.required for plan in plans))
    required = [name for name in accepted if name in wanted]
    optional = [name for name in accepted if name not in wanted]
    return (required, optional) if len(required) == len(wanted) else ([], [])


def _direct_source(function: Callable[..., R], plans: Sequence[_Plan], required: list[str], option: list[str]) -> str:
    """The source of a function of the ``required`` parameters, and of at most one ``option``, that are written out."""
    names = [*required, *option]
    passed = [
        name if at == name else f"{name}={name}"
        for at, name in zip(signature(function).parameters, names, strict=False)
    ]
    leading = [n for d, n in enumerate(required) if all(plan.names[: d + 1] == (*required[: d + 1],) for plan in plans)]
    return _DIRECT.format(
        name=function.__name__,
        parameters=", ".join(f"{name}=ABSENT" for name in names),
        positional="\n        ".join(_taken(leading[: d + 1], d) for d in range(len(leading))) or "if False: pass",
        values=", ".join(names),
        missing=" or ".join(f"{name} is ABSENT" for name in required),
        kept="".join(f"if {name} is not ABSENT: others['{name}'] = {name}" for name in option),
        option="".join(
            f"if {name} is not ABSENT: return (told if recording() else function)({', '.join(passed)})"
            for name in option
        ),
        required=", ".join(passed[: len(required)]),
    )


def _direct(
    module: str, function: Callable[..., R], told: Callable[..., R], judged: Callable[..., R]
) -> Callable[..., R] | None:
    """``function`` with its required parameters, and the first other one, written out; ``told`` where it gets more.

    That spares most calls a dictionary of their arguments. Calls that not every version takes go to ``judged``; all do,
    where the result is ``None``.
    """
    entries = [beta2.symbol(f"{module}.{function.__name__}", target) for target in VERSIONS]
    if not all(entry is not None and entry.parameters for entry in entries):
        return None
    plans = [_plan(f"{module}.{function.__name__}", target) for target in VERSIONS]
    required, optional = _sorted_out(function, plans)
    if not required:
        return None
    names = [*required, *optional[:1]]
    source = _direct_source(function, plans, required, optional[:1])

    def given(values: Sequence[object], taken: int = 0) -> dict[str, object]:
        """The arguments by name, without the first ``taken``, which were positional."""
        pairs = list(zip(names, values, strict=True))
        return {name: value for name, value in pairs[taken:] if value is not _ABSENT}

    space: dict[str, Any] = {"BETA1": session.BETA1, "version": version, "ABSENT": _ABSENT, "recording": _recording}
    space |= {"function": function, "told": told, "judged": judged, "given": given, "optional": frozenset(optional[1:])}
    exec(compile(source, __file__, "exec"), space)
    made: Callable[..., R] = space[function.__name__]
    return made


def _recording() -> bool:
    """Is there anybody who is to be told of options?"""
    running = session.RUNNING.get()
    return running is not None and running.machine.recorder is not None


def _taken(names: list[str], position: int) -> str:
    """The branch for as many positional arguments as ``names``."""
    free = " and ".join(f"{name} is ABSENT" for name in names)
    return f"{'elif' if position else 'if'} len(args) == {len(names)} and {free}: ({', '.join(names)},) = args"
