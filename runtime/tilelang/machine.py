"""One block of a kernel after the other, on NumPy. What each statement touched is recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from ..errors import KernelError, NotModelled
from .cells import Array
from .ir import Bind, Buffer, For, If, Kernel, Op, Stmt, Store, Var
from .operations import Operations
from .types import numpy_type
from .values import cast

_MOST_LANES = 1 << 22


class Machine(Operations):
    """Runs the blocks of ``kernel`` on ``arrays``, one for each argument, which it changes."""

    def __init__(self, kernel: Kernel, arrays: Mapping[str, Any], addresses: Mapping[int, int]) -> None:
        super().__init__(kernel, addresses)
        self._bind_arguments(arrays)

    def _bind_arguments(self, arrays: Mapping[str, Any]) -> None:
        for parameter in self._kernel.parameters:
            given = arrays[parameter.name]
            if isinstance(parameter, Var):
                self._env[id(parameter)] = numpy_type(parameter.dtype).type(given)
                continue
            if not isinstance(given, np.ndarray) or given.ndim != len(parameter.shape):
                raise KernelError("", f"argument '{parameter.name}' has {len(parameter.shape)} axes")
            if given.dtype != numpy_type(parameter.dtype):
                raise KernelError("", f"argument '{parameter.name}' is {parameter.dtype}, and gets {given.dtype}")
            for size, extent in zip(parameter.shape, given.shape, strict=True):
                if isinstance(size, Var) and id(size) not in self._env:
                    self._env[id(size)] = extent
            self._memory[id(parameter)] = given
        for parameter in self._kernel.parameters:
            if isinstance(parameter, Buffer):
                shape = tuple(self._size(size) for size in parameter.shape)
                if shape != arrays[parameter.name].shape:
                    message = f"argument '{parameter.name}' is {shape}, and gets {arrays[parameter.name].shape}"
                    raise KernelError("", message)

    def old_results(self) -> list[Buffer]:
        """The results of the reducers of the old kind that the last block finalized."""
        return [each.result for each in self._reducers.values() if id(each.result) in self._memory]

    def grid(self) -> tuple[int, ...]:
        return tuple(self._size(extent) for extent in self._kernel.grid)

    def run_block(self, position: Sequence[int]) -> None:
        """Run one block. Raises :class:`KernelError` with the line of a statement that breaks a rule."""
        for variable, at in zip(self._kernel.blocks, position, strict=True):
            self._env[id(variable)] = np.int32(at)
        for buffer in self._kernel.buffers:
            if buffer.scope != "global" or id(buffer) not in self._memory:
                shape = tuple(self._size(size) for size in buffer.shape)
                self._memory[id(buffer)] = _fresh(buffer, shape)
        self._reducers = {}
        self._phases = {}
        self.events = []
        self._sequence = 0
        with np.errstate(all="ignore"):
            self._run(self._kernel.body)
        for reducer in self._reducers.values():
            reducer.end()

    def _run(self, body: Sequence[Stmt]) -> None:
        for statement in body:
            self._place = statement.place
            try:
                self._execute(statement)
            except (KernelError, NotModelled) as error:
                if not error.line or error.file != statement.place[0]:
                    error.file, error.line = self._place
                    text = (
                        error.text
                        if isinstance(error, KernelError)
                        else f"the emulator does not model {error.construct}"
                    )
                    error.args = (f"{error.file}:{error.line}: {text}",)
                raise

    def _execute(self, statement: Stmt) -> None:
        if isinstance(statement, Store):
            self._store(statement)
        elif isinstance(statement, Bind):
            self._env[id(statement.var)] = self._values.of(statement.bound, self._mask)
        elif isinstance(statement, If):
            self._branch(statement)
        elif isinstance(statement, For):
            self._loop(statement)
        elif isinstance(statement, Op):
            self._operation(statement)
        else:
            raise NotModelled(type(statement).__name__)

    def _branch(self, statement: If) -> None:
        test = np.asarray(self._values.of(statement.condition, self._mask)).astype(bool)
        if test.ndim == 0:
            self._run(statement.body if test else statement.orelse)
            return
        before = self._mask
        for mask, body in ((before & test, statement.body), (before & ~test, statement.orelse)):
            if body and np.any(mask):
                self._mask = mask
                self._run(body)
        self._mask = before

    def _loop(self, loop: For) -> None:
        starts = [int(self._values.of(each)) for each in loop.starts]
        extents = [self._uniform(each) for each in loop.extents]
        if loop.kind == "Parallel":
            self._parallel(loop, starts, extents)
            return
        if len(extents) > 1:
            for position in np.ndindex(*extents):
                for variable, start, at in zip(loop.vars, starts, position, strict=True):
                    self._env[id(variable)] = np.int32(start + at)
                self._run(loop.body)
            return
        for at in range(extents[0]):
            self._env[id(loop.vars[0])] = np.int32(starts[0] + at * loop.step)
            self._run(loop.body)

    def _parallel(self, loop: For, starts: list[int], extents: list[int]) -> None:
        if self._lanes:
            raise NotModelled("T.Parallel in T.Parallel")
        if prod(extents) > _MOST_LANES:
            raise NotModelled(f"T.Parallel of more than {_MOST_LANES} iterations")
        if not prod(extents):
            return
        self._lanes = tuple(extents)
        self._mask = np.ones(extents, bool)
        for axis, (variable, extent) in enumerate(zip(loop.vars, extents, strict=True)):
            shape = [1] * len(extents)
            shape[axis] = extent
            self._env[id(variable)] = np.arange(extent, dtype=np.int32).reshape(shape) + np.int32(starts[axis])
        try:
            self._run(loop.body)
        finally:
            self._mask, self._lanes = True, ()

    def _store(self, statement: Store) -> None:
        buffer = statement.buffer
        if buffer.root.reducer:
            self._old_update(statement)
            return
        stored = self._values.of(statement.stored, self._mask)
        indices = tuple(self._values.of(each, self._mask) for each in statement.indices)
        array = self.array(buffer)
        inside, clipped = self._inside(buffer, array, indices, self._mask)
        self._written.add(id(buffer.root))
        mask = self._mask & inside
        shape = np.broadcast_shapes(np.shape(mask), np.shape(stored), *(np.shape(each) for each in clipped))
        chosen = np.broadcast_to(mask, shape)
        numbers = np.broadcast_to(cast(stored, array.dtype), shape)[chosen]
        places = tuple(np.broadcast_to(each, shape)[chosen] for each in clipped)
        array[places] = numbers
        self._event("store", [self._elements("dst", buffer, array, places)], self._reads_of(statement.stored))

    def _old_update(self, statement: Store) -> None:
        reducer = self._reducer(statement.buffer)
        contribution, sign = reducer.contribution(statement)
        self._contribute(reducer, statement.indices, contribution, sign)


def _fresh(buffer: Buffer, shape: tuple[int, ...]) -> Array:
    """Memory that nothing wrote yet: a variable begins with 0, all others with NaN in each floating point type."""
    dtype = numpy_type(buffer.dtype)
    size = prod(shape) * dtype.itemsize
    return np.full(size, 0 if buffer.is_var else 0xFF, np.uint8).view(dtype).reshape(shape)
