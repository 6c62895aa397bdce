"""``tilelang.language`` as kernels of TileLang-Ascend use it: kernels, loops, allocations and what orders them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..errors import NotModelled
from ..spec.ascend import SPACE_OF_CALL, SPACE_OF_SCOPE
from .machine import AscendError, Machine, current, dtype_of
from .values import Buffer, Symbolic, number_of, viewed

VECTORS = 2
"""Vector cores that share a block on A2 and A3."""


class PrimFunc:
    """A kernel: what ``@T.prim_func`` makes of a function."""

    def __init__(self, func: Any) -> None:
        self.func = func
        self.__name__ = getattr(func, "__name__", "main")
        self.__doc__ = getattr(func, "__doc__", None)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise AscendError("a kernel is launched by its cases, not called")


class TensorSpec:
    """``T.Tensor(shape, dtype)``: what a parameter is."""

    def __init__(self, shape: Any, dtype: str = "float32", **more: Any) -> None:
        self.shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
        self.dtype = dtype


class _Frame:
    """A ``with`` of the language that only opens and closes."""

    def __init__(self, value: Any = None) -> None:
        self.value = value

    def __enter__(self) -> Any:
        return self.value

    def __exit__(self, *error: object) -> None:
        return None


class Kernel(_Frame):
    """``T.Kernel(n, is_npu=True) as (cid, vid)``: the place of this program among the blocks and their vector cores."""

    def __init__(self, *blocks: Any, threads: int | None = None, is_npu: bool = False, **more: Any) -> None:
        machine = current()
        if len(blocks) != 1:
            raise AscendError(f"T.Kernel of an NPU has one dimension of blocks, not {len(blocks)}")
        if machine.grid is not None:
            raise NotModelled("two T.Kernel in one kernel")
        machine.grid = int(number_of(blocks[0]))
        paired = is_npu and threads is None
        machine.vectors = VECTORS if paired else 1
        super().__init__((machine.block, machine.vector) if paired else machine.block)


def prim_func(func: Any = None, **options: Any) -> Any:
    return PrimFunc if func is None else PrimFunc(func)


def macro(func: Any) -> Any:
    """``T.macro``: a function that kernels call."""
    return func


def symbolic(name: str, dtype: str = "int32") -> Symbolic:
    return Symbolic(name)


def Scope(name: str) -> _Frame:
    """``T.Scope("C")``, ``T.Scope("V")``: which core runs the block. Both run here, in the order of the text."""
    return _Frame()


def serial(*bounds: Any, **more: Any) -> Iterator[int]:
    """``T.serial``, ``T.unroll``: a loop in order."""
    return iter(range(*(int(number_of(bound)) for bound in bounds)))


def pipelined(start: Any, stop: Any = None, num_stages: int = 0, **more: Any) -> Iterator[int]:
    """``T.Pipelined``: a loop whose passes overlap; they run one after the other here."""
    return serial(start) if stop is None else serial(start, stop)


def parallel(*extents: Any, **more: Any) -> Iterator[Any]:
    """``T.Parallel``: all elements, in the order of rows."""
    sizes = [range(int(number_of(extent))) for extent in extents]
    return iter(sizes[0]) if len(sizes) == 1 else itertools.product(*sizes)


def ordering(*args: Any, **kwargs: Any) -> None:
    """Flags and barriers between the engines of a core: statements are in order here anyway."""


def set_cross_flag(pipe: str, flag: int, mode: int = 2) -> None:
    machine = current()
    machine.flags[flag] = machine.flags.get(flag, 0) + 1


def wait_cross_flag(flag: int, pipe: str = "") -> None:
    """A wait for what the text has not reached yet needs cores that run at once, which are not modelled."""
    machine = current()
    if machine.flags.get(flag, 0) <= 0:
        raise NotModelled("cores that wait for each other (T.wait_cross_flag before the flag is set)")
    machine.flags[flag] -= 1


# --- allocations -----------------------------------------------------------------------------------------------------


def made(space: str, shape: Any, dtype: Any, align: int = 1, owner: str = "") -> Buffer:
    """A buffer in ``space``."""
    machine = current()
    sizes = _sizes(shape, machine)
    cell = machine.allocate(space, sizes, str(dtype), align, owner)
    array = cell.base.view(dtype_of(dtype)).reshape(sizes)
    return Buffer(cell, array, machine, str(dtype))


def _sizes(shape: Any, machine: Machine) -> tuple[int, ...]:
    """A shape as numbers; ``"auto"`` is what the plan found."""
    if isinstance(shape, str):
        if shape != "auto":
            raise AscendError(f'a shape is numbers or "auto", not {shape!r}')
        planned = machine.expected()
        if planned is None or not planned.shape:
            raise AscendError('the shape is "auto", and no T.copy with a buffer of known shape tells it')
        return planned.shape
    items = shape if isinstance(shape, (tuple, list)) else (shape,)
    sizes = tuple(int(number_of(item)) for item in items)
    if any(size < 0 for size in sizes):
        raise AscendError(f"a buffer of shape {list(sizes)}")
    return sizes


def allocator(call: str) -> Any:
    """``T.alloc_ub(shape, dtype)`` and the others that name their memory."""
    space = SPACE_OF_CALL[call]

    def allocate(shape: Any, dtype: Any) -> Buffer:
        return made(space, shape, dtype)

    allocate.__name__ = call
    return allocate


def inferred(call: str) -> Any:
    """``T.alloc_shared``, ``T.alloc_fragment``: where matmuls need the buffer, which the source tells."""

    def allocate(shape: Any, dtype: Any, scope: str = "") -> Buffer:
        planned = current().expected()
        if planned is None:
            raise NotModelled(f"T.{call} where the source does not tell which memory it means")
        return made(planned.space, shape, dtype)

    allocate.__name__ = call
    return allocate


class Variable:
    """``T.alloc_var``: one number, ``v[0]``."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __getitem__(self, index: Any) -> Any:
        return self.value

    def __setitem__(self, index: Any, value: Any) -> None:
        self.value = number_of(value)


def alloc_var(dtype: str, *args: Any, init: Any = None, scope: str = "local.var") -> Variable:
    given = [value for value in args if not isinstance(value, str)]
    return Variable(number_of(given[0] if given else 0 if init is None else init))


def annotate_address(addresses: dict[Buffer, int]) -> None:
    """The addresses are those that the buffers have got: they were read from the source. A difference is an error."""
    for buffer, address in addresses.items():
        if buffer.cell.address is not None and buffer.cell.address != int(number_of(address)):
            raise NotModelled(f"the address of '{buffer.name}', which differs from program to program")


def view(src: Buffer, shape: Any = None, dtype: str | None = None) -> Buffer:
    """``T.view``: another shape and type on the same bytes."""
    src.usable()
    return viewed(src, None if shape is None else _sizes(shape, current()), dtype)


def reshape(src: Buffer, shape: Any) -> Buffer:
    """``T.reshape``: another shape on the same bytes."""
    return view(src, shape)


def address_of(buffer: Buffer) -> int:
    """The byte address in the buffer's memory."""
    buffer.usable()
    if buffer.cell.address is None:
        raise NotModelled(f"the address of '{buffer.name}', which nothing gives one")
    return buffer.cell.address


def ceildiv(a: Any, b: Any) -> int:
    return -(-int(number_of(a)) // int(number_of(b)))


def if_then_else(condition: Any, yes: Any, no: Any) -> Any:
    return number_of(yes) if number_of(condition) else number_of(no)


def infinity(dtype: str) -> Any:
    return np.float32(float("inf"))


def scope_of(scope: str, call: str) -> str:
    """The memory of a scope's name."""
    if scope == "local":
        raise AscendError(
            f'T.{call} with scope="local": there is no memory inside of UB; a scalar is T.alloc_var, an accumulator '
            "T.alloc_L0C"
        )
    if scope not in SPACE_OF_SCOPE:
        raise AscendError(f"T.{call}: there is no scope '{scope}'; there are {', '.join(SPACE_OF_SCOPE)}")
    return SPACE_OF_SCOPE[scope]


@contextmanager
def grouped(*args: Any, **kwargs: Any) -> Iterator[None]:
    """A ``with`` that means nothing to numbers (``T.attr``)."""
    yield
