"""Run one kernel: bind its arguments, plan its memory from its source, run every program of its grid.

Programs run one after the other, block by block, both vector cores of a block in turn, each on memories of its own.
Outputs are the tensors of ``out_idx``, else what the kernel returns, else the tensors that it wrote.
"""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from .. import process
from ..cases import CaseError
from ..compare.trace import Packed, Run
from ..compare.trace import Program as Record
from ..errors import KernelError, NotModelled
from ..spec.ascend import DEFAULT_TARGET, TARGETS
from .language import PrimFunc, TensorSpec
from .machine import RUNNING, Array, AscendError, Cell, Machine, dtype_of
from .modules import Factory
from .plans import Program, Unreadable, planned
from .plans.names import Names
from .plans.reading import read_kernel
from .plans.sources import pool_statements
from .seed import leaks
from .values import Buffer, Symbolic

_MOST_PROGRAMS = 4096


@dataclass(frozen=True)
class Settings:
    """How memory is planned: the mode and the planner of :mod:`.plans.planners`."""

    mode: str = "auto"
    planner: str = "scope-exit"


@dataclass(eq=False)
class Bound:
    """A kernel with its arguments: plain ones by name, tensors with their cells, and the places of its outputs."""

    kernel: PrimFunc
    values: dict[str, Any]
    tensors: dict[str, Buffer]
    outputs: tuple[str, ...]
    reuses: bool


@process.launching()
def launch(
    kernel: PrimFunc | Factory,
    values: Mapping[str, Any],
    target: str = DEFAULT_TARGET,
    settings: Settings | None = None,
) -> Run:
    """Run ``kernel`` with ``values`` (arrays and plain values by parameter name).

    Raises :class:`~..errors.KernelError` for a kernel that breaks a rule, :class:`~..errors.NotModelled` for what is
    not modelled, :class:`~..cases.CaseError` for values that do not fit.
    """
    settings = settings or Settings()
    bound = bind(kernel, values)
    source = Source.of(bound.kernel.func)
    program = source.program(bound)
    addresses: dict[str, int] = {}
    if program is not None:
        made = planned(program, target, settings.mode, settings.planner, bound.reuses)
        addresses = {alloc.name: alloc.addr for alloc in made.plan.allocs if alloc.addr is not None}
    first = _machine(bound, target, program, addresses, source, 0, 0)
    returned = _run(bound, first)
    machines, blocks = [first], 1 if first.grid is None else first.grid
    if blocks * first.vectors > _MOST_PROGRAMS:
        raise NotModelled(f"a grid of {blocks} blocks: give the case smaller tensors")
    for number in range(1, blocks * first.vectors):
        block, vector = divmod(number, first.vectors)
        machine = _machine(bound, target, program, addresses, source, block, vector)
        _run(bound, machine)
        machines.append(machine)
    return _record(bound, machines, returned)


def _machine(
    bound: Bound,
    target: str,
    program: Program | None,
    addresses: Mapping[str, int],
    source: Source,
    block: int,
    vector: int,
) -> Machine:
    machine = Machine(TARGETS[target], program, addresses, block, vector, names=source.names)
    for name, buffer in bound.tensors.items():
        cell = buffer.cell
        cell.uid = len(machine.cells)
        machine.cells.append(cell)
        output = bound.outputs.index(name) if name in bound.outputs else None
        machine.note_tensor(cell, buffer.shape, buffer.array.dtype, cell.role, output)
    return machine


def _run(bound: Bound, machine: Machine) -> tuple[Buffer, ...]:
    token = RUNNING.set(machine)
    try:
        result = bound.kernel.func(**bound.values, **bound.tensors)
        left = leaks(machine)
        if left is not None:
            file, line = inspect.getsourcefile(bound.kernel.func), bound.kernel.func.__code__.co_firstlineno
            raise KernelError("", left, file=file, line=line)
    finally:
        RUNNING.reset(token)
    items = result if isinstance(result, tuple) else (result,)
    return tuple(item for item in items if isinstance(item, Buffer))


def _record(bound: Bound, machines: Sequence[Machine], returned: tuple[Buffer, ...]) -> Run:
    """The record of a launch, with its outputs in their order."""
    outputs: list[Buffer] = [bound.tensors[name] for name in bound.outputs]
    if not outputs:
        outputs = [buffer for buffer in returned if buffer.cell.freed is None]
    if not outputs:
        written = {op.tile for m in machines for e in m.events for op in e.operands if op.role == "dst"}
        outputs = [buffer for buffer in bound.tensors.values() if buffer.cell.uid in written]
    order = {id(buffer.cell): index for index, buffer in reversed(list(enumerate(outputs)))}
    programs = []
    for machine in machines:
        places = {cell.uid: order[id(cell)] for cell in machine.cells if id(cell) in order}
        tensors = tuple(replace(t, output=places.get(t.uid, t.output)) for t in machine.tensors)
        programs.append(Record(tuple(machine.tiles), tensors, tuple(machine.events)))
    return Run(tuple(Packed.of(np.array(buffer.array)) for buffer in outputs), tuple(programs))


# --- arguments -------------------------------------------------------------------------------------------------------


def bind(kernel: PrimFunc | Factory, values: Mapping[str, Any]) -> Bound:
    """The kernel with the values of a case; a factory gets those that are its own."""
    left = dict(values)
    maker = kernel if isinstance(kernel, Factory) else None
    made = kernel if isinstance(kernel, PrimFunc) else _made(kernel, left)
    parameters = inspect.signature(made.func).parameters
    names = list(parameters)
    outputs = _named(maker.out_idx if maker else (), names)
    bound = Bound(made, {}, {}, outputs, maker is not None and maker.reuses)
    for name, value in left.items():
        if name not in parameters:
            raise CaseError(
                f"kernel '{kernel.__name__}' has no parameter '{name}': it has {', '.join(names) or 'none'}"
            )
        if isinstance(value, np.ndarray):
            bound.tensors[name] = _tensor(name, value, parameters[name].annotation)
        else:
            bound.values[name] = value
    own = {*outputs, *_named(maker.workspace_idx if maker else (), names)}
    for name, parameter in parameters.items():
        if name in bound.tensors or name in bound.values:
            continue
        spec = parameter.annotation
        if isinstance(spec, TensorSpec) and name in own:
            shape = tuple(int(size) for size in spec.shape)
            role = "output" if name in outputs else ""
            bound.tensors[name] = _buffer(name, np.zeros(shape, dtype_of(spec.dtype)), str(spec.dtype), role)
        elif parameter.default is parameter.empty:
            raise _missing(name, kernel)
    bound.tensors = {name: bound.tensors[name] for name in names if name in bound.tensors}
    return bound


def _named(indices: tuple[int, ...], names: list[str]) -> tuple[str, ...]:
    """The parameters at these places, which may be counted from the end."""
    return tuple(names[index] for index in indices if -len(names) <= index < len(names))


def _made(factory: Factory, left: dict[str, Any]) -> PrimFunc:
    """The kernel that a factory makes of its own arguments, which are taken out of ``left``."""
    parameters = inspect.signature(factory.func).parameters
    own = {name: left.pop(name) for name in parameters if name in left}
    for name, parameter in parameters.items():
        if parameter.default is parameter.empty and name not in own:
            raise _missing(name, factory)
    made = factory(**own)
    if not isinstance(made, PrimFunc):
        raise CaseError(f"'{factory.__name__}' returns no T.prim_func")
    return made


def _missing(name: str, kernel: PrimFunc | Factory) -> CaseError:
    return CaseError(f"parameter '{name}' of kernel '{kernel.__name__}' has no value: add it to [case.args]")


def _tensor(name: str, array: Array, spec: object) -> Buffer:
    """An argument in global memory, of the shape and type that its parameter has."""
    dtype = array.dtype.name
    if isinstance(spec, TensorSpec):
        if len(spec.shape) != array.ndim:
            raise CaseError(f"'{name}' has {len(spec.shape)} dimensions, the case gives {array.ndim}")
        for size, given in zip(spec.shape, array.shape, strict=True):
            if isinstance(size, Symbolic) and size.value is None:
                size.value = given
            elif int(size) != given:
                raise CaseError(
                    f"'{name}' has shape {[int(s) for s in spec.shape]}, the case gives {list(array.shape)}"
                )
        if dtype_of(spec.dtype) != array.dtype:
            raise CaseError(f"'{name}' is {spec.dtype}, the case gives {dtype}")
        dtype = str(spec.dtype)
    return _buffer(name, np.array(array), dtype, "input")


def _buffer(name: str, array: Array, dtype: str, role: str) -> Buffer:
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    cell = Cell(0, name, "GM", array.nbytes, flat, None, role=role)
    return Buffer(cell, flat.view(array.dtype).reshape(array.shape), None, dtype)


# --- the source ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Source:
    """Where a kernel stands: its definition, the names of its file, the targets of the assignments of each line."""

    tree: ast.Module | None
    node: ast.FunctionDef | None
    function: Any
    names: Mapping[int, tuple[str, ...]]

    @staticmethod
    def of(function: Any) -> Source:
        tree = _tree(function)
        first = function.__code__.co_firstlineno
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.FunctionDef) and first in (node.lineno, *(d.lineno for d in node.decorator_list)):
                return Source(tree, node, function, _targets(node))
        return Source(tree, None, function, {})

    def program(self, bound: Bound) -> Program | None:
        """The statements of the kernel, ``None`` where they cannot be followed (then nothing has an address)."""
        if self.node is None or self.tree is None:
            return None
        known: dict[str, object] = dict(self.function.__globals__)
        closure = inspect.getclosurevars(self.function)
        known |= dict(closure.nonlocals) | bound.values
        plain = {name: _plain(value) for name, value in known.items()}
        try:
            return read_kernel(
                self.node,
                {name: value for name, value in plain.items() if value is not None},
                Names.of(self.tree),
                pool_statements(self.tree, Names.of(self.tree)),
                {name: buffer.shape for name, buffer in bound.tensors.items()},
            )
        except Unreadable:
            return None


@lru_cache(64)
def _tree(function: Any) -> ast.Module | None:
    """The file of a function as it was loaded, which need not be as it is on disk."""
    lines = linecache.getlines(function.__code__.co_filename, function.__globals__)
    try:
        return ast.parse("".join(lines)) if lines else None
    except (SyntaxError, ValueError):
        return None


def _plain(value: object) -> object:
    """A value that the reader of the source may calculate with, ``None`` for any other."""
    if isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Symbolic):
        return value.value
    if isinstance(value, (tuple, list)):
        items = [_plain(item) for item in value]
        return None if any(item is None for item in items) else type(value)(items)
    return None


def _targets(node: ast.FunctionDef) -> Mapping[int, tuple[str, ...]]:
    found: dict[int, tuple[str, ...]] = {}
    for statement in ast.walk(node):
        if isinstance(statement, ast.Assign):
            names = [n.id for t in statement.targets for n in ast.walk(t) if isinstance(n, ast.Name)]
            found[statement.value.lineno] = (*found.get(statement.value.lineno, ()), *names)
        elif isinstance(statement, ast.withitem) and isinstance(statement.optional_vars, ast.Name):
            found[statement.context_expr.lineno] = (statement.optional_vars.id,)
    return found


__all__ = ["AscendError", "Bound", "Settings", "bind", "launch"]
