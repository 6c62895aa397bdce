"""The API of the "memory management" document, most of which exists nowhere else (:mod:`..spec.ascend_seed`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .language import made, scope_of, view
from .machine import RUNNING, AscendError, Machine, MemoryStats, OutOfMemory, TraceLine, current
from .plans.planners import PoolBlocks
from .values import Buffer, number_of

MemoryError = OutOfMemory


def alloc_buffer(shape: Any, dtype: str = "float32", scope: str = "global", alignment: int = 1) -> Buffer:
    """A buffer in the memory of ``scope``; its address is a multiple of ``alignment``."""
    return made(scope_of(scope, "alloc_buffer"), shape, dtype, int(alignment))


class allocate:
    """``with T.allocate(shape, dtype=..., scope=...) as buf``: released where the block ends."""

    def __init__(self, shape: Any = None, dtype: str = "float32", scope: str = "shared", extents: Any = None) -> None:
        shape = extents if shape is None else shape
        if shape is None:
            raise AscendError(
                "T.allocate has no shape: nothing tells the size of the buffer; write T.allocate(shape, ...)"
            )
        self._buffer = made(scope_of(scope, "allocate"), shape, dtype, owner="scope")

    def __enter__(self) -> Buffer:
        current().scopes.append(self._buffer.cell)
        return self._buffer

    def __exit__(self, kind: object, *error: object) -> None:
        machine, cell = current(), self._buffer.cell
        if kind is not None:
            return
        if not machine.scopes or machine.scopes[-1] is not cell:
            raise AscendError(f"the block of '{cell.name}' ends before one that begins inside of it: scopes must nest")
        machine.scopes.pop()
        machine.release(cell, "the end of T.allocate")


def free(buffer: Buffer) -> None:
    """``T.free``: the buffer may not be used any more."""
    cell = buffer.cell
    if cell.owner == "pool":
        raise AscendError(f"T.free of '{cell.name}', which belongs to a pool: give it back with pool.free")
    if cell.owner == "scope":
        raise AscendError(f"T.free of '{cell.name}': the end of its T.allocate block releases it")
    current().release(cell, "T.free")


class MemoryPool:
    """``T.memory_pool``: bytes of one memory that are handed out in blocks. Each program has its own."""

    def __init__(self, max_size: int, block_size: int, scope: str = "shared") -> None:
        self.size, self.block = int(max_size), int(block_size)
        if self.block < 1 or self.size < self.block:
            raise AscendError(f"a pool of {self.size} bytes in blocks of {self.block}")
        self.space = scope_of(scope, "memory_pool")
        if self.space == "GM":
            raise AscendError("T.memory_pool in global memory: workspaces are parameters there")

    def _blocks(self, machine: Machine) -> tuple[PoolBlocks, dict[int, int]]:
        found: tuple[PoolBlocks, dict[int, int]] = machine.pools.setdefault(
            id(self), (PoolBlocks(self.size, self.block), {})
        )
        return found

    def allocate(self, shape: Any, dtype: str = "float32") -> Buffer:
        """A buffer in the first free blocks."""
        machine = current()
        blocks, held = self._blocks(machine)
        before = blocks.in_use
        planned = machine.expected()
        try:
            buffer = made(self.space, shape, dtype, owner="pool")
        except OutOfMemory:
            if planned is None:
                raise
            raise OutOfMemory(self._full(planned.name, planned.nbytes, before)) from None
        offset = blocks.take(buffer.array.nbytes)
        if offset is None:
            raise OutOfMemory(self._full(buffer.name, buffer.array.nbytes, before))
        held[buffer.cell.uid] = offset
        return buffer

    def _full(self, name: str, nbytes: int, used: int) -> str:
        return f"the pool of {self.size} bytes has no room for '{name}' ({nbytes} bytes): {used} are in use"

    def free(self, buffer: Buffer) -> None:
        """Give the blocks of a buffer back."""
        machine = current()
        blocks, held = self._blocks(machine)
        machine_cell = buffer.cell
        if machine_cell.freed is None and machine_cell.uid not in held:
            raise AscendError(f"pool.free of '{buffer.name}', which is not from this pool")
        machine.release(machine_cell, "pool.free")
        blocks.release(held.pop(machine_cell.uid))


def memory_pool(max_size: int, block_size: int, scope: str = "shared") -> MemoryPool:
    return MemoryPool(max_size, block_size, scope)


def buffer_alias(buffer: Buffer, shape: Any = None, dtype: str | None = None) -> Buffer:
    """Another view on the bytes of ``buffer``."""
    return view(buffer, shape, dtype)


def workspace(size: Any) -> Buffer:
    """``size`` bytes of global memory."""
    return made("GM", (int(number_of(size)),), "uint8")


def evaluate(value: Any) -> Any:
    """``T.evaluate``: what is inside has happened. It may stand in a ``with``, as in the document."""
    return _Nothing()


class _Nothing:
    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: object) -> None:
        return None


@contextmanager
def stream(name: str) -> Iterator[None]:
    """Copies inside of the block end with it."""
    machine = current()
    machine.streams.append(name)
    try:
        yield
    finally:
        machine.streams.pop()
        for cell in machine.cells:
            cell.flight = "" if cell.flight == name else cell.flight


def is_aligned(address: Any, alignment: int) -> bool:
    """Is the address a multiple of ``alignment``?"""
    return int(number_of(address)) % int(alignment) == 0


def memory_stats() -> MemoryStats:
    """What is allocated, what was at most, and what was released."""
    return current().stats()


@contextmanager
def memory_trace(enabled: bool = True) -> Iterator[list[TraceLine]]:
    """Each allocation, release and copy inside of the block."""
    machine = RUNNING.get()
    lines: list[TraceLine] = []
    if machine is None or not enabled:
        yield lines
        return
    machine.tracing.append(lines)
    try:
        yield lines
    finally:
        machine.tracing.remove(lines)


def leaks(machine: Machine) -> str | None:
    """What a program did not give back: the text of the error, ``None`` where nothing is left."""
    left = [cell for cell in machine.cells if cell.owner in ("pool", "scope") and cell.freed is None]
    if not left:
        return None
    listed = ", ".join(f"'{cell.name}' ({cell.nbytes} bytes)" for cell in left)
    return f"the kernel ends without giving back {listed}: {machine.allocated} bytes are allocated"
