"""Kernels that loop over a launch grid of Beta 1: each iteration is recorded as the program that it was."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from .. import session
from ..cases import Case
from ..machine import Machine
from ..spec.grids import GRID_PARAMETERS


class GridSize(int):
    """The last size of the launch grid that a kernel got as an argument: ``affine_range`` of it runs programs."""


def programs_of(indices: range) -> Iterable[int]:
    """The indices, each after the machine was told that a program begins. (A loop inside of a program begins none.)"""
    machine = session.current().machine
    return indices if machine.in_program else _programs_of(indices, machine)


def _programs_of(indices: range, machine: Machine) -> Iterator[int]:
    machine.in_program = True
    for index in indices:
        machine.begin_program()
        yield index
    machine.in_program = False


def with_grid_size(values: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a launch by host code, the last size of whose grid counts programs."""
    name = next((name for name in GRID_PARAMETERS if isinstance(values.get(name), tuple) and values[name]), None)
    return dict(values) if name is None else {**values, name: (*values[name][:-1], GridSize(values[name][-1]))}


def with_grid_argument(case: Case, function: Callable[..., Any]) -> Case:
    """The case for a kernel that takes the launch grid as an argument; any other kernel is launched on it."""
    known = inspect.signature(function).parameters
    name = next((name for name in GRID_PARAMETERS if name in known and name not in case.args), None)
    if name is None or not case.grid:
        return case
    return replace(case, grid=(), args={**case.args, name: (*case.grid[:-1], GridSize(case.grid[-1]))})
