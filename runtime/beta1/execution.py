"""Running a Beta 1 kernel: arguments in, machines and outputs out."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from types import CodeType
from typing import Any, Protocol

import numpy as np

from .. import naming, process, session
from ..errors import KernelError, user_location
from ..machine import Machine
from ..memory import Array, Kept
from ..spec import hardware
from . import arithmetic
from .assignment import assign, update
from .base import Tensor
from .broadcast import spread_rows
from .host import as_array, returner
from .movement import copy
from .operators import Operators
from .programs import Ensemble
from .rewriting import rewrite_helpers, rewritten
from .state import STRICT, Options, State
from .tensor import Tile, whole
from .tokens import PRIVATE_HBM, dtype_of
from .typing import is_mutable

DESCENDING = "NKI_MIGRATE_DESCENDING"
"""Environment variable: run ``affine_range`` loops backwards."""


OPERATORS = Operators(
    arithmetic.operator_result, arithmetic.negated, arithmetic.inverted, assign, update, copy, spread_rows
)
"""What the operators of a kernel's tensors execute."""


class Launchable(Protocol):
    """A kernel as its launch sees it: a function, the keywords of its decorators, and the ``mode`` among them."""

    @property
    def func(self) -> Callable[..., Any]: ...
    @property
    def options(self) -> dict[str, Any]: ...
    @property
    def mode(self) -> str: ...
    @property
    def new_style(self) -> bool:
        """Does the kernel return its outputs (and may not write to parameters)?"""


@dataclass(eq=False)
class Launch:
    """``outputs`` are the returned tensors in order, or the output parameters of a kernel that returns none.

    ``machines`` has one machine for each program of the grid, ``returned`` is what the kernel returned, with arrays.
    """

    outputs: list[Array]
    machines: list[Machine] = field(default_factory=list)
    returned: Any = None


def programs(grid: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Program ids of a launch grid in row-major order; an extent of 0 runs as one program."""
    return list(product(*(range(max(int(n), 1)) for n in grid)))


@process.launching()
def run(
    kernel: Launchable,
    bound: inspect.BoundArguments,
    grid: tuple[int, ...],
    target: hardware.Target,
    record: bool = False,
    precision: str = "engine",
    descending: bool | None = None,
) -> Launch:
    """Run ``kernel`` once for each program of ``grid``, with arguments bound to its signature."""
    backwards = bool(os.environ.get(DESCENDING)) if descending is None else descending
    strict = bool(os.environ.get(STRICT))
    function = rewritten(kernel.func)
    rewrite_helpers(function)
    options = Options(kernel.options.get("force_auto_alloc", False), kernel.options.get("stack_allocator", False))
    inputs, shared = _Inputs(kernel, bound), list[Array]()
    result = Launch([])
    order = programs(grid)
    ensemble = Ensemble(order)
    states: dict[tuple[int, ...], State] = {}
    outputs_of: dict[tuple[int, ...], list[Tile]] = {}
    given: list[Tile] = []
    for program in order:
        machine = Machine(target, record=record, legalizes=True)
        running = session.Session(machine, tuple(int(n) for n in grid), program, "beta1", precision, backwards)
        states[program] = running.front = State(running, options, shared, ensemble, OPERATORS, strict=strict)
        states[program].codes = tuple(_codes(function))
        result.machines.append(machine)

    def execute(program: tuple[int, ...]) -> None:
        state = states[program]
        with session.running(state.session), np.errstate(all="ignore"):
            arguments, parameters = inputs.tensors(state)
            returned = _call(function, arguments)
            state.finish()
            outputs = outputs_of[program] = _outputs(returned, inputs, parameters, state)
        if program == order[0]:
            given[:], result.returned = outputs, returned

    ensemble.run(execute)
    _check_written(kernel, [(states[program], outputs) for program, outputs in outputs_of.items()])
    inputs.write_back()
    kept = Kept()
    result.outputs = [kept.array(tile) for tile in given]
    as_caller = returner(inputs.values)
    result.returned = _arrays(result.returned, lambda tile: as_caller(kept.array(tile)))
    for state in states.values():
        state.session.front = None  # it has its session: what they hold would wait for the collector
    return result


def _codes(function: Any) -> Iterator[CodeType]:
    """The code of a kernel, and of what its decorators wrap."""
    while function is not None:
        if hasattr(function, "__code__"):
            yield function.__code__
        function = getattr(function, "__wrapped__", None)


@naming.kernel_boundary
def _call(function: Callable[..., Any], bound: inspect.BoundArguments) -> Any:
    return function(*bound.args, **bound.kwargs)


class _Inputs:
    """The arguments of a launch. All programs see the same memory."""

    def __init__(self, kernel: Launchable, bound: inspect.BoundArguments) -> None:
        self.kernel = kernel
        self.bound = bound
        self.memory: dict[str, Array] = {}
        self.callers: dict[str, Array] = {}
        self.values: list[Any] = []
        self.returns = kernel.new_style
        self.place = user_location()

    def tensors(self, state: State) -> tuple[inspect.BoundArguments, list[Tile]]:
        """The arguments with arrays as HBM tensors of the program of ``state``, and these tensors."""
        tiles: list[Tile] = []
        parameters = self.bound.signature.parameters
        arguments = inspect.BoundArguments(self.bound.signature, type(self.bound.arguments)())
        for name, value in self.bound.arguments.items():
            mutable = not self.returns or is_mutable(parameters[name].annotation)
            arguments.arguments[name] = self._tensor(state, name, value, mutable, tiles)
        return arguments, tiles

    def _tensor(self, state: State, name: str, value: Any, mutable: bool, tiles: list[Tile]) -> Any:
        array = as_array(value)
        if array is not None:
            if name not in self.memory:
                self.memory[name] = _memory(array, mutable)
                self.callers[name] = array
                self.values.append(value)
            alloc = state.machine.allocate_hbm(self.memory[name], name=name, role="input", location=self.place)
            if not mutable:
                state.immutable.add(alloc.uid)
            tile = whole(alloc, PRIVATE_HBM)
            tiles.append(tile)
            return tile
        if type(value) in (list, tuple):
            items = (self._tensor(state, f"{name}_{i}", item, mutable, tiles) for i, item in enumerate(value))
            return type(value)(items)
        if isinstance(value, dict):
            return {key: self._tensor(state, f"{name}_{key}", item, mutable, tiles) for key, item in value.items()}
        return value

    def write_back(self) -> None:
        """Give the caller of an old style kernel what it wrote to its parameters."""
        if self.kernel.new_style:
            return
        for name, array in self.callers.items():
            if _same_bytes(array, self.memory[name]):
                continue
            if not array.flags.writeable:
                raise KernelError("", f"the kernel writes to its parameter '{name}', which the caller cannot change")
            array[...] = self.memory[name]


def _memory(array: Array, mutable: bool) -> Array:
    """The memory of an argument: a copy where the kernel may write to it, else the caller's own, that nobody writes."""
    dtype = dtype_of(array.dtype)
    if mutable:
        return np.array(array, dtype, order="C")
    shared: Array = np.asarray(array, dtype, order="C").view()
    shared.flags.writeable = False
    return shared


def _same_bytes(a: Array, b: Array) -> bool:
    return a.tobytes() == b.tobytes()


def _outputs(returned: Any, inputs: _Inputs, parameters: list[Tile], state: State) -> list[Tile]:
    """The output tensors of one program, after the checks at the end of a kernel.

    They must be in HBM; the documented simulator also returned on-chip tiles.
    """
    outputs = list(_tensors(returned))
    if returned is None:
        outputs = [tile for tile in parameters if tile.alloc.uid in state.written]
    for position, tile in enumerate(outputs):
        if tile.space != "hbm" and inputs.kernel.mode != "simulation":
            raise KernelError(
                "err_unsupported_memory",
                f"output {position} of the kernel, '{tile.name}', is in {tile.space}: outputs must be in HBM",
            )
        tile.alloc.output = position
        if tile.alloc.role == "scratch":
            tile.alloc.role = "output"
    state.check_allocation()
    state.check_hbm([tile.alloc for tile in outputs])
    _check_mutable_returned(inputs, outputs)
    return outputs


def _check_written(kernel: Launchable, programs: list[tuple[State, list[Tile]]]) -> None:
    """Raise for an output that no program of the launch wrote to, and for a kernel without outputs."""
    outputs = programs[0][1]
    for position, tile in enumerate(outputs):
        counterparts = [(state, tiles[position]) for state, tiles in programs if position < len(tiles)]
        if not any(_is_written(other, state) for state, other in counterparts):
            raise KernelError(
                "err_tensor_output_not_written_to",
                f"output {position} of the kernel, '{tile.name}', is never written to",
                file=tile.alloc.file,
                line=tile.alloc.line,
            )
    code = getattr(kernel.func, "__code__", None)
    if not any(tiles for _, tiles in programs) and code is not None:
        raise KernelError(
            "err_tensor_output_not_written_to",
            f"kernel '{kernel.func.__name__}' has no output: it returns no tensor, and writes to no parameter",
            file=code.co_filename,
            line=code.co_firstlineno,
        )


def _is_written(tile: Tile, state: State) -> bool:
    """Did the program write to an output? (On-chip tiles of the simulator and tensors without elements count so.)"""
    return tile.space != "hbm" or tile.alloc.uid in state.written or 0 in tile.alloc.shape


def _check_mutable_returned(inputs: _Inputs, outputs: list[Tile]) -> None:
    if not inputs.kernel.new_style:
        return
    returned = {tile.alloc.name for tile in outputs}
    for name, parameter in inputs.bound.signature.parameters.items():
        if name in inputs.memory and is_mutable(parameter.annotation) and name not in returned:
            raise KernelError(
                "err_mutable_parameter_not_returned",
                f"Mutable kernel parameter `{name}` not returned by `return` statement",
                file=inputs.kernel.func.__code__.co_filename,
                line=inputs.kernel.func.__code__.co_firstlineno,
            )


def _tensors(returned: Any) -> Iterator[Tile]:
    """The tensors of a returned value, in order."""
    if isinstance(returned, Tensor):
        yield returned.as_tile()
    elif isinstance(returned, (tuple, list)):
        for item in returned:
            yield from _tensors(item)
    elif isinstance(returned, dict):
        for item in returned.values():
            yield from _tensors(item)


def _arrays(returned: Any, give: Callable[[Tile], Any]) -> Any:
    """What the kernel returned, with arrays as ``give`` makes them in place of tensors."""
    if isinstance(returned, Tensor):
        return give(returned.as_tile())
    if isinstance(returned, dict):
        return {key: _arrays(item, give) for key, item in returned.items()}
    if isinstance(returned, tuple) and hasattr(returned, "_fields"):
        return type(returned)(*(_arrays(item, give) for item in returned))
    if isinstance(returned, (tuple, list)):
        return type(returned)(_arrays(item, give) for item in returned)
    return returned
