"""Running a Beta 2 kernel: arguments in, machines and outputs out."""

from __future__ import annotations

import builtins
import inspect
import math
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from .. import naming, process, session
from ..errors import KernelError, user_location
from ..machine import Machine
from ..memory import Array, Kept, View, view_of
from ..spec import hardware
from ..spec.beta2_dialects import DIALECTS
from ..spec.versions import DEFAULT, Version
from ..spec.versions import version as nki_version
from . import state
from .buffers import BUFFERS
from .cores import Cores
from .declare import declare
from .gather import gathered
from .inputs import Inputs
from .observed import observed
from .python_values import STAND_INS
from .tensor import NkiTensor


@dataclass(eq=False)
class Launch:
    """``outputs`` are the returned tensors in order; ``machines`` has one machine for each program of the grid.

    ``returned`` is what the first program returned.
    """

    outputs: list[Array]
    machines: list[Machine] = field(default_factory=list)
    returned: object = None


def programs(grid: Sequence[int]) -> int:
    """Number of programs of a launch grid: ``()`` is one program, ``(1,)`` and ``(2,)`` are logical cores."""
    if not grid:
        return 1
    if len(grid) != 1 or not isinstance(grid[0], int) or grid[0] not in (1, 2):
        raise KernelError("", f"the launch grid of a Beta 2 kernel is one integer, 1 or 2, not {list(grid)}")
    return grid[0]


def launch(
    kernel: Callable[..., Any],
    args: dict[str, object],
    *,
    grid: tuple[int, ...] = (),
    target: hardware.Target = hardware.TARGETS[hardware.DEFAULT_TARGET],
    record: bool = False,
    version: Version | str = DEFAULT,
    written: Sequence[str] | None = None,
) -> Launch:
    """:func:`execute`, of code that the front end takes: the source of all that ``kernel`` reaches is judged before it
    runs, and what matters only where it runs, values of Python's operators among it, while it runs.

    Raises
    ------
    KernelError
        What the front end refuses or computes otherwise than Python, with the rule's code and place.
    """
    functions = gathered(getattr(kernel, "func", kernel), args.values(), nki_version(version))
    missing = {name for item in functions for name in item.roots if name not in item.function.__globals__}
    with observed(functions):
        names = missing if functions else None
        return execute(
            kernel, args, grid=grid, target=target, record=record, version=version, names=names, written=written
        )


@process.launching()
def execute(
    kernel: Callable[..., Any],
    args: dict[str, object],
    *,
    grid: tuple[int, ...] = (),
    target: hardware.Target = hardware.TARGETS[hardware.DEFAULT_TARGET],
    record: bool = False,
    version: Version | str = DEFAULT,
    names: Set[str] | None = None,
    written: Sequence[str] | None = None,
) -> Launch:
    """Run ``kernel`` (a function or what ``nki.jit`` made of it) once for each program of ``grid``.

    ``args`` are keyword arguments: numpy arrays become HBM input tensors named after the parameter, also inside
    lists and tuples; anything else is passed as it is. A kernel never changes the caller's arrays: what it writes to is
    given back as it was (:class:`~..memory.Lent`).
    ``names`` are those that the kernel's code reads and its modules do not have, ``None`` where they are not known.
    ``written``: it is a function that kernels call, and may write to these arguments: if it returns nothing, they are
    its outputs; if it does, these may be in any memory.
    """
    function = getattr(kernel, "func", kernel)
    at = nki_version(version)
    inputs = Inputs()
    shared = state.SharedMemory()
    cores = Cores(programs(grid))
    machines = [Machine(target, record=record) for _ in range(cores.count)]

    given: dict[int, object] = {}

    def program(index: int) -> list[NkiTensor]:
        running = session.Session(machines[index], grid, (index,) if grid else (), "beta2")
        state.install(running, state.State(declare, at, shared, cores, index))
        with session.running(running), np.errstate(all="ignore"):
            place = user_location()
            bound = {name: _argument(machines[index], name, value, inputs, place) for name, value in args.items()}
            given[index] = _call(function, bound)
            tensors = list(_tensors(given[index]))
            if written is None:
                _check_outputs(tensors)
                return tensors
            return tensors or [item for name in written for item in _tensors(bound[name])]

    with inputs, front_end_names(at, names):
        returned = cores.run(program)
        for tensors in returned:
            for position, tensor in enumerate(tensors):
                tensor.alloc.output = position
        kept = Kept()
        outputs = [kept.array(_output(tensor, position)) for position, tensor in enumerate(returned[0])]
    return Launch(outputs, machines, given[0])


@contextmanager
def front_end_names(version: Version, wanted: Set[str] | None = None) -> Iterator[None]:
    """Those of the ``wanted`` names (all by default) that the front end knows without an import.

    They are the module ``math``; until 0.3 also the memories. None but these, because each new name, and each that
    goes, makes Python look up anew what all code so far has found among its built-in functions. The stand-ins of
    operators, which nobody else has names for, stay.
    """
    known = vars(builtins)
    if "__nki_binary__" not in known:
        known.update(STAND_INS)
    names = _front_end_names(version)
    new = [name for name in names if name not in known and (wanted is None or name in wanted)]
    for name in new:
        known[name] = names[name]
    try:
        yield
    finally:
        for name in new:
            known.pop(name, None)


@cache
def _front_end_names(version: Version) -> dict[str, Any]:
    memories = ("sbuf", "psum", "hbm") if DIALECTS[version].memory_names else ()
    return {"math": math, **{name: BUFFERS[name] for name in memories}}


@naming.kernel_boundary
def _call(function: Callable[..., Any], bound: dict[str, object]) -> Any:
    known = inspect.signature(function).parameters
    first = [name for name, parameter in known.items() if parameter.kind is parameter.POSITIONAL_ONLY and name in bound]
    return function(*(bound[name] for name in first), **{k: v for k, v in bound.items() if k not in first})


def _argument(machine: Machine, name: str, value: object, inputs: Inputs, place: tuple[str, int]) -> object:
    if isinstance(value, np.ndarray):
        array, lent = inputs.tensor(name, value)
        allocation = machine.allocate_hbm(array, name=name, role="input", location=place)
        allocation.lent = lent
        return NkiTensor(allocation, array)
    if isinstance(value, (list, tuple)):
        return type(value)(_argument(machine, f"{name}_{i}", item, inputs, place) for i, item in enumerate(value))
    if isinstance(value, type) and issubclass(value, np.generic):
        raise KernelError("", "numpy dtypes are not supported as arguments. Use nki.language.X instead")
    return value


def _tensors(returned: object) -> Iterator[NkiTensor]:
    """The tensors of a returned value, in order; the compiler drops everything else."""
    if isinstance(returned, NkiTensor):
        yield returned
    elif isinstance(returned, (tuple, list)):
        for item in returned:
            yield from _tensors(item)


def _check_outputs(tensors: list[NkiTensor]) -> None:
    front = state.current()
    for position, tensor in enumerate(tensors):
        place = front.declared.get(tensor.alloc.uid, "shared_hbm")
        if place not in front.rules.outputs:
            raise KernelError(
                "",
                f"output {position} of the kernel, '{tensor.label}', is in nl.{place}: in NKI {front.version} outputs "
                f"must be in nl.{front.rules.outputs[0]}",
            )


def _output(tensor: NkiTensor, position: int) -> View:
    if tensor.alloc.space != "hbm":
        raise KernelError(
            "",
            f"output {position} of the kernel, '{tensor.label}', is in {tensor.alloc.space.upper()}: outputs must "
            "be in nl.shared_hbm",
        )
    return view_of(tensor.alloc, tensor.resolved().array.reshape(tensor.shape))
