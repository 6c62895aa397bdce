"""The plan of a traced kernel: which buffer is where, on which architecture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from ..errors import KernelError
from ..plan import Alloc, Flaw, Plan, Space, aligned, flaws
from ..spec.tilelang import (
    DEFAULT_ARCHITECTURE,
    SHARED_BYTES,
    STATIC_SHARED_BYTES,
    TMEM_ARCHITECTURES,
    TMEM_COLUMNS,
    TMEM_LEAST,
)
from .arena import ALIGN, packed, sequential
from .canonical import canonical, parts
from .ir import Bind, Buffer, Expr, For, If, Kernel, Load, Op, Region, Stmt, Store
from .types import numpy_type

BARRIER_BYTES = 8
ARENA = "shared.dyn"
_SWIZZLED = 1024
_VECTOR_BYTES = 16


@dataclass(frozen=True)
class Layout:
    """The plan, and what of it is not as sure as the rest, in words."""

    plan: Plan
    notes: tuple[str, ...]
    flaws: tuple[Flaw, ...]


def layout(kernel: Kernel, architecture: str = DEFAULT_ARCHITECTURE, *, reuse: bool = True) -> Layout:
    """Place the buffers of ``kernel``. Raises :class:`KernelError` for an architecture that is not known."""
    if architecture not in SHARED_BYTES:
        raise KernelError("", f"no architecture '{architecture}': there are {', '.join(SHARED_BYTES)}")
    notes: list[str] = []
    steps = touches(kernel.body, kernel.threads)
    stages = _stages(kernel.body)
    allocs = []
    for buffer in kernel.buffers:
        found = _alloc(buffer, architecture, steps, stages, kernel)
        if found is not None:
            allocs.append(found)
        else:
            notes.append(f"'{buffer.name}' has a size that only a launch tells: it has no address here")
    notes += _hidden(kernel)
    spaces = (
        Space(ARENA, SHARED_BYTES[architecture]),
        Space("shared", STATIC_SHARED_BYTES),
        Space("shared.tmem", TMEM_COLUMNS if architecture in TMEM_ARCHITECTURES else 0, "columns"),
    )
    plan = Plan(tuple(allocs), spaces)
    used = [alloc for alloc in plan.of(ARENA) if alloc.live[0] < alloc.live[1]]
    plan = plan.placed(ARENA, packed(used) if reuse else sequential(used))
    return Layout(plan, tuple(notes), flaws(plan))


def _alloc(
    buffer: Buffer, architecture: str, steps: dict[int, tuple[int, int]], stages: dict[int, int], kernel: Kernel
) -> Alloc | None:
    if any(isinstance(size, Expr) for size in buffer.shape):
        return None
    shape = tuple(int(size) for size in buffer.shape)
    size = prod(shape) * numpy_type(buffer.dtype).itemsize
    live = steps.get(buffer.uid, (0, 0))
    align = 1
    if buffer.scope == ARENA:
        size *= stages.get(buffer.uid, 1)
        align = _SWIZZLED if _is_swizzled(buffer, architecture, kernel) else ALIGN
    elif buffer.scope == "shared.tmem":
        size, live = columns(shape, buffer.dtype, buffer.line), (0, 1 << 62)
    elif buffer.scope in ("shared.barrier", "shared.cluster_barrier"):
        size = BARRIER_BYTES * shape[0]
    return Alloc(buffer.name, buffer.scope, shape, buffer.dtype, size, align, live, None, False, buffer.line[1])


def columns(shape: Sequence[int], dtype: str, place: tuple[str, int] | None = None) -> int:
    """The columns of Tensor Memory that ``alloc_tmem`` takes: of 32 bits each, a power of two, at least 32.

    Raises :class:`KernelError` at ``place`` for more than there are.
    """
    wanted = prod(shape[:-2]) * shape[-1]
    if wanted > TMEM_COLUMNS:
        file, line = place or (None, None)
        raise KernelError("", f"alloc_tmem of {wanted} columns: there are {TMEM_COLUMNS}", file=file, line=line)
    found = TMEM_LEAST
    while found < wanted:
        found *= 2
    return found


def _is_swizzled(buffer: Buffer, architecture: str, kernel: Kernel) -> bool:
    """Does the hardware read the buffer through a descriptor with a swizzle (wgmma, TMA)?"""
    if architecture not in ("sm_90", "sm_90a"):
        return False
    return any(
        op.name == "gemm" and any(_root(each) is buffer for each in op.operands[1:]) for op in operations(kernel.body)
    )


def operations(body: Sequence[Stmt]) -> Iterator[Op]:
    """The operations on tiles, in the order of the statements, those of inner blocks among them."""
    for statement in body:
        if isinstance(statement, Op):
            yield statement
        elif isinstance(statement, For):
            yield from operations(statement.body)
        elif isinstance(statement, If):
            yield from operations(statement.body)
            yield from operations(statement.orelse)


def _hidden(kernel: Kernel) -> list[str]:
    """What the compiler adds to the arena where threads exchange what they reduced."""
    return [
        f"line {op.place[1]}: the workspace that the threads of {op.name} may exchange partial results in is not placed"
        for op in operations(kernel.body)
        if op.name in ("reduce", "finalize_reducer", "cumsum")
    ]


def _stages(body: Sequence[Stmt]) -> dict[int, int]:
    """How often a pipelined loop keeps each buffer that its copies write."""
    found: dict[int, int] = {}
    for statement in body:
        if isinstance(statement, For):
            if statement.kind == "Pipelined" and statement.stages > 1:
                for op in operations(statement.body):
                    source = _root(op.operands[1]) if op.name == "copy" else None
                    target = _root(op.operands[0]) if op.name == "copy" else None
                    if source is not None and target is not None and source.scope == "global" and target.uid >= 0:
                        found[target.uid] = statement.stages
            found |= _stages(statement.body)
        elif isinstance(statement, If):
            found |= _stages(statement.body) | _stages(statement.orelse)
    return found


def _root(operand: Any) -> Buffer | None:
    if isinstance(operand, (Region, Load)):
        return operand.buffer.root
    return operand.root if isinstance(operand, Buffer) else None


# --- lifetimes -------------------------------------------------------------------------------------------------------


@dataclass
class _Step:
    """One statement of the kernel's body as the compiler's analysis sees it; ``deep``: a loop over several."""

    touched: list[int]
    deep: bool


def touches(body: Sequence[Stmt], threads: int = 128) -> dict[int, tuple[int, int]]:
    """For each buffer the steps ``[a, b)`` of the kernel's body that it lives in.

    A loop is one step, unless it runs once: then its statements are the body's. A buffer whose last use is in a loop
    over several statements and whose first is not lives as long as such loops follow each other.
    """
    steps = [step for statement in canonical(body) for step in _steps(statement, threads)]
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for number, step in enumerate(steps):
        for uid in step.touched:
            first.setdefault(uid, number)
            last[uid] = number
    events = [n for n in range(len(steps)) if n in set(first.values()) | set(last.values())]
    found = {}
    for uid, end in last.items():
        if steps[end].deep and not steps[first[uid]].deep:
            following = [n for n in events if n > end]
            for number in following:
                if not steps[number].deep:
                    break
                end = number
        found[uid] = (first[uid], end + 1)
    return found


def _steps(statement: Stmt, threads: int) -> Iterator[_Step]:
    """The steps of a statement: one, or two where elements are loaded as a vector, converted and then stored."""
    touched = list(dict.fromkeys(uid for buffer in _buffers(statement) for uid in [buffer.root.uid] if uid >= 0))
    if not touched:
        return
    store = converted(statement, threads)
    if store is not None:
        target = store.buffer.root.uid
        yield _Step([uid for uid in touched if uid != target] or touched, False)
        yield _Step([target], False)
    else:
        yield _Step(touched, isinstance(statement, For) and _is_deep(statement))


def converted(statement: Stmt, threads: int) -> Store | None:
    """The store of a loop in which each thread converts one vector from one shared buffer to another.

    ``DecoupleTypeCast`` loads the vector into registers before the store: a buffer that is read lives one step earlier.
    """
    if not isinstance(statement, For) or statement.kind != "Parallel" or len(statement.body) != 1:
        return None
    store = statement.body[0]
    extents = [each for each in statement.extents if isinstance(each, int)]
    if not isinstance(store, Store) or len(extents) != len(statement.extents) or prod(extents) % threads:
        return None
    read = [part.buffer for part in parts(store.stored) if isinstance(part, Load)]
    types = {store.buffer.dtype, *(buffer.dtype for buffer in read)}
    width = prod(extents) // threads
    widest = max(numpy_type(name).itemsize for name in types)
    fits = width in (2, 4, 8, 16) and width * widest <= _VECTOR_BYTES
    shared = all(buffer.scope == ARENA for buffer in (store.buffer, *read))
    return store if fits and shared and read and len(types) > 1 else None


def _is_deep(loop: For) -> bool:
    """Has the loop's body more than one statement, wherever branches are looked through?"""
    return _has_sequence(loop.body)


def _has_sequence(body: list[Stmt]) -> bool:
    if len(body) > 1:
        return True
    return any(isinstance(each, If) and (_has_sequence(each.body) or _has_sequence(each.orelse)) for each in body)


def _buffers(statement: Any) -> Iterator[Buffer]:
    if isinstance(statement, Store):
        yield statement.buffer
        yield from _in(statement.indices)
        yield from _in(statement.stored)
    elif isinstance(statement, Op):
        yield from _in(statement.operands)
        yield from _in(tuple(statement.attributes.values()))
    elif isinstance(statement, Bind):
        yield from _in(statement.bound)
    elif isinstance(statement, If):
        yield from _in(statement.condition)
        for each in (*statement.body, *statement.orelse):
            yield from _buffers(each)
    elif isinstance(statement, For):
        yield from _in(statement.extents)
        for each in statement.body:
            yield from _buffers(each)


def _in(expression: Any) -> Iterator[Buffer]:
    """The buffers that an expression reads."""
    if isinstance(expression, Buffer):
        yield expression
    elif isinstance(expression, Region):
        yield expression.buffer
        yield from _in((*expression.starts, *expression.extents))
    elif isinstance(expression, Expr):
        yield from _in(expression.args)
    elif isinstance(expression, tuple):
        for each in expression:
            yield from _in(each)


__all__ = ["ALIGN", "Layout", "aligned", "columns", "layout", "operations", "touches"]
