"""Run one case of a kernel: trace it, place its buffers, run its blocks one after the other."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from math import prod
from typing import Any

import numpy as np

from .. import process
from ..arguments import argument
from ..cases import Case, CaseError
from ..compare.trace import HbmTensor, Packed, Program, Run, TileRow
from ..dialect import Launch
from ..errors import KernelError, NotModelled
from .cells import result_uid
from .ir import Buffer, Kernel
from .language import PrimFunc
from .layout import Layout, layout
from .machine import Machine
from .modules import Factory
from .tracing import trace
from .types import numpy_type

_MOST_BLOCKS = 4096


def function_of(candidate: object) -> Callable[..., Any] | None:
    """The Python function of a kernel of this language, ``None`` for any other object."""
    return candidate.func if isinstance(candidate, (PrimFunc, Factory)) else None


@process.launching()
def launch(asked: Launch) -> Run:
    """Run a case. The outputs are the arguments that the kernel wrote to, in the order of its parameters."""
    case = asked.case
    values = {name: argument(case, name, given, "", asked.module) for name, given in case.args.items()}
    function, values = _made(asked.kernel, values, case)
    kernel = trace(function.func)
    arrays = _matched(kernel, values, case)
    placed = layout(kernel, asked.hardware)
    _must_fit(placed, kernel)
    addresses = {
        buffer.uid: alloc.addr
        for buffer in kernel.buffers
        for alloc in placed.plan.allocs
        if alloc.name == buffer.name and alloc.scope == buffer.scope and alloc.addr is not None
    }
    for number, buffer in enumerate(_globals(kernel)):
        buffer.uid = _first_global(kernel) + number
    machine = Machine(kernel, arrays, addresses)
    grid = machine.grid()
    if prod(grid) > _MOST_BLOCKS:
        raise NotModelled(f"a grid of more than {_MOST_BLOCKS} blocks")
    programs = []
    for position in np.ndindex(*grid):
        machine.run_block(position)
        programs.append(Program(_rows(kernel, placed, machine), (), tuple(machine.events)))
    tensors = tuple(_tensors(kernel, machine))
    written = [each for each in kernel.parameters if isinstance(each, Buffer) and id(each) in machine.written]
    return Run(
        tuple(Packed.of(arrays[each.name]) for each in written),
        tuple(Program(one.tiles, tensors, one.events) for one in programs),
        notes=placed.notes,
    )


def _made(kernel: object, values: Mapping[str, Any], case: Case) -> tuple[PrimFunc, dict[str, Any]]:
    """The prim_func, and its arguments: a function under ``tilelang.jit`` is called with those that it has."""
    if isinstance(kernel, PrimFunc):
        return kernel, dict(values)
    assert isinstance(kernel, Factory)
    parameters = inspect.signature(kernel.func).parameters
    own = {name: given for name, given in values.items() if name in parameters}
    for name, parameter in parameters.items():
        if (
            parameter.default is parameter.empty
            and name not in own
            and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        ):
            raise CaseError(f"parameter '{name}' of kernel '{case.kernel}' has no value: add it to [case.args]")
    return kernel(**own), {name: given for name, given in values.items() if name not in parameters}


def _matched(kernel: Kernel, values: Mapping[str, Any], case: Case) -> dict[str, Any]:
    names = [parameter.name for parameter in kernel.parameters]
    for name in values:
        if name not in names:
            raise CaseError(f"kernel '{case.kernel}' has no parameter '{name}': it has {', '.join(names)}")
    for name in names:
        if name not in values:
            raise CaseError(f"parameter '{name}' of kernel '{case.kernel}' has no value: add it to [case.args]")
    found = dict(values)
    for parameter in kernel.parameters:
        given = found[parameter.name]
        if isinstance(parameter, Buffer) and isinstance(given, np.ndarray):
            found[parameter.name] = (
                np.array(given, numpy_type(parameter.dtype)) if given.dtype == bool else given.copy()
            )
    return found


def _must_fit(placed: Layout, kernel: Kernel) -> None:
    for flaw in placed.flaws:
        line = max(alloc.line for alloc in flaw.allocs)
        buffer = next((b for b in kernel.buffers if b.line[1] == line), None)
        file = buffer.line[0] if buffer is not None else ""
        raise KernelError("", flaw.message, file=file, line=line)


def _globals(kernel: Kernel) -> Iterator[Buffer]:
    yield from (each for each in kernel.parameters if isinstance(each, Buffer))
    yield from (each for each in kernel.buffers if each.scope == "global")


def _first_global(kernel: Kernel) -> int:
    """The first number that no buffer on chip has, the results of reducers of the old kind among them."""
    return result_uid(kernel, len(kernel.buffers))


def _rows(kernel: Kernel, placed: Layout, machine: Machine) -> tuple[TileRow, ...]:
    allocs = {(alloc.name, alloc.scope): alloc for alloc in placed.plan.allocs}
    rows = []
    for buffer in kernel.buffers:
        if buffer.scope == "global":
            continue
        alloc = allocs.get((buffer.name, buffer.scope))
        address = alloc.addr if alloc is not None else None
        size = alloc.bytes if alloc is not None else machine.array(buffer).nbytes
        rows.append(_row(buffer, buffer.uid, address, size))
    for reducer in machine.old_results():
        rows.append(_row(reducer, reducer.uid, None, machine.array(reducer).nbytes))
    return tuple(rows)


def _row(buffer: Buffer, uid: int, address: int | None, size: int) -> TileRow:
    space = "register" if buffer.scope.startswith("local") else buffer.scope
    partition = None if address is None else 0
    return TileRow(uid, buffer.name, (), space, partition, address, 1, size, buffer.dtype, *buffer.line)


def _tensors(kernel: Kernel, machine: Machine) -> Iterator[HbmTensor]:
    outputs = [each for each in kernel.parameters if isinstance(each, Buffer) and id(each) in machine.written]
    for buffer in _globals(kernel):
        shape = tuple(int(size) for size in machine.array(buffer).shape)
        output = next((n for n, each in enumerate(outputs) if each is buffer), None)
        is_argument = any(each is buffer for each in kernel.parameters)
        role = "output" if output is not None else "input" if is_argument else ""
        yield HbmTensor(buffer.uid, buffer.name, role, shape, buffer.dtype, output, "", *buffer.line)
