"""The NumPy calls that the definitions of the instructions make in one run, to be timed without the emulator.

Seen are the functions and universal functions that ``runtime/isa`` and ``runtime/numerics`` take from ``numpy`` (with
their methods, such as ``np.add.reduce``), and the tables of operators and activation functions. Not seen, and so not
called NumPy's work, are operators on arrays (``a * b``), methods of arrays (``copy``, ``astype``) and the copy into the
destination.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np
from nki_migrate.runtime import numerics
from nki_migrate.runtime.isa import operators, reductions

_NAMES = ("core", "elementwise", "matmul", "operators", "reductions", "statistics")
MODULES = (numerics, *(import_module(f"nki_migrate.runtime.isa.{name}") for name in _NAMES))
"""By their names: ``nki_migrate.runtime.isa`` has functions that are called like their modules."""
_Call = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class _Noted:
    """``function``, whose calls are added to ``calls``; what it calls itself is part of its own."""

    inside = False

    def __init__(self, function: Callable[..., Any], calls: list[_Call]) -> None:
        self._function, self._calls = function, calls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _Noted.inside:
            return self._function(*args, **kwargs)
        self._calls.append((self._function, args, kwargs))
        _Noted.inside = True
        try:
            return self._function(*args, **kwargs)
        finally:
            _Noted.inside = False

    def __getattr__(self, name: str) -> Any:
        return _Noted(getattr(self._function, name), self._calls)


class _NumPy:
    """The module ``numpy``, whose functions note their calls."""

    def __init__(self, calls: list[_Call]) -> None:
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        value = getattr(np, name)
        return _Noted(value, self._calls) if callable(value) and not isinstance(value, type) else value


@contextmanager
def _noting(calls: list[_Call]) -> Iterator[None]:
    tables: tuple[dict[str, Any], ...] = (operators.ALU, operators.ACTIVATIONS, reductions._EXACT)
    before = [dict(table) for table in tables]
    noting: Any = _NumPy(calls)
    for module in MODULES:
        vars(module)["np"] = noting
    for table in tables:
        table.update({name: _Noted(function, calls) for name, function in table.items()})
    try:
        yield
    finally:
        for module in MODULES:
            vars(module)["np"] = np
        for table, original in zip(tables, before, strict=True):
            table.update(original)


def numpy_calls(run: Callable[[], object]) -> Callable[[], None]:
    """What repeats the NumPy calls that ``run`` makes, with the same arguments."""
    calls: list[_Call] = []
    with _noting(calls):
        run()

    def replay() -> None:
        for function, args, kwargs in calls:
            function(*args, **kwargs)

    return replay
