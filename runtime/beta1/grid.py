"""The place of a program in the launch grid."""

from __future__ import annotations

from typing import Any

from ..errors import KernelError
from ..session import current


class ProgramId(int):
    """Place along ``axis`` of the launch grid; as such it names the axis, for ``nl.all_reduce(program_axes=)``."""

    axis: int


def program_id(axis: int) -> int:
    """Place of this program along ``axis`` of the launch grid."""
    session = current()
    if not 0 <= int(axis) < len(session.program):
        raise KernelError("", f"program_id({axis}): the launch grid has {len(session.grid)} dimensions")
    found = ProgramId(session.program[int(axis)])
    found.axis = int(axis)
    return found


def num_programs(axes: Any = None) -> int:
    """Number of programs along ``axes`` of the launch grid (default: all of them)."""
    grid = current().grid
    chosen = range(len(grid)) if axes is None else axes if isinstance(axes, (tuple, list)) else (axes,)
    total = 1
    for axis in chosen:
        if not 0 <= int(axis) < max(len(grid), 1):
            raise KernelError("", f"num_programs({axes}): the launch grid has {len(grid)} dimensions")
        total *= grid[int(axis)] if grid else 1
    return total


def program_ndim() -> int:
    """Number of dimensions of the launch grid, 0 without one."""
    return len(current().grid)
