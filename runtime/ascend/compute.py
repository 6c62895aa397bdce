"""Copies, tile operations, reductions and matmuls, on the bytes of buffers.

Floating-point numbers are computed in fp32 and rounded once when they are written; a matmul sums in float64. What the
hardware does is not known to this emulator: two versions of a kernel are compared with each other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import NotModelled
from ..numerics import convert, is_integer, to_float32
from .machine import Array, AscendError, Cell, current
from .values import Buffer, Load, Region, number_of, part_of


def copy(src: Any, dst: Any, enable_relu: bool = False, transpose: bool = False, **scopes: Any) -> None:
    """``T.copy``: between memories, converting; one side may name only where the other's part begins."""
    unknown = set(scopes) - {"src_scope", "dst_scope", "pad_value"}
    if unknown:
        raise AscendError(f"T.copy has no parameter '{min(unknown)}'")
    if scopes.get("pad_value") is not None:
        raise NotModelled("T.copy with pad_value=")
    from_cell, source, to_cell, target = _sides(src, dst, transpose)
    values = source.T if transpose else source
    if _squeezed(values.shape) != _squeezed(target.shape):
        raise AscendError(f"T.copy of {list(values.shape)} elements into {list(target.shape)}")
    values = values.reshape(target.shape)
    if enable_relu:
        values = np.maximum(to_float32(values), 0)
    target[...] = convert(np.array(values), target.dtype)
    machine = current()
    attributes = (("relu", True),) if enable_relu else ()
    machine.record("copy", [("dst", to_cell, target), ("src", from_cell, source)], attributes)
    machine.trace("copy", to_cell)
    if machine.streams:
        to_cell.flight = machine.streams[-1]


def _sides(src: Any, dst: Any, transpose: bool) -> tuple[Cell, Array, Cell, Array]:
    if isinstance(src, Load) and isinstance(dst, Load):
        raise AscendError("T.copy between two elements does not tell how many: slice one of them")
    from_cell, source = part_of(src, "the source of T.copy")
    to_cell, target = part_of(dst, "the destination of T.copy")
    if isinstance(src, Load):
        source = _begun(src, target.T.shape if transpose else target.shape)
    if isinstance(dst, Load):
        target = _begun(dst, source.T.shape if transpose else source.shape)
    return from_cell, source, to_cell, target


def _begun(load: Load, extent: tuple[int, ...]) -> Array:
    """The part of a buffer that begins at an element and is as large as ``extent``, aligned to the last dimensions."""
    whole = load.buffer.array
    sizes = (1,) * (whole.ndim - len(extent)) + extent[-whole.ndim :] if whole.ndim else ()
    if len(extent) > whole.ndim and any(n != 1 for n in extent[: len(extent) - whole.ndim]):
        raise AscendError(f"a part of {list(extent)} elements does not fit into '{load.buffer.name}'")
    for at, size, bound in zip(load.items, sizes, whole.shape, strict=True):
        if at + size > bound:
            raise AscendError(f"T.copy reaches element {at + size} of {bound} of '{load.buffer.name}'")
    found: Array = whole[tuple(slice(at, at + size) for at, size in zip(load.items, sizes, strict=True))]
    return found


def _squeezed(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(size for size in shape if size != 1)


def fill(buffer: Any, value: Any) -> None:
    """``T.tile.fill``, ``T.fill``."""
    cell, array = part_of(buffer, "what is filled")
    number = number_of(value)
    array[...] = convert(np.asarray(number, np.float32 if isinstance(number, (float, np.floating)) else np.int64),
                         array.dtype)  # fmt: skip
    current().record("fill", [("dst", cell, array)], (("value", number),))


def clear(buffer: Any) -> None:
    """``T.clear``: zeros."""
    fill(buffer, 0)


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "max": np.maximum,
    "min": np.minimum,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
}
UNARY: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp,
    "ln": np.log,
    "abs": np.abs,
    "reciprocal": np.reciprocal,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: np.reciprocal(np.sqrt(x)),
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: np.reciprocal(1 + np.exp(-x)),
    "bitwise_not": np.invert,
}


def binary(name: str) -> Callable[..., None]:
    """``T.tile.<name>(dst, a, b)``; ``b`` may be a number or an element."""
    function = BINARY[name]

    def operation(dst: Any, src0: Any, src1: Any) -> None:
        cell, target = part_of(dst, f"the destination of T.tile.{name}")
        a_cell, a = part_of(src0, f"the first operand of T.tile.{name}")
        operands = [("dst", cell, target), ("data1", a_cell, a)]
        if isinstance(src1, (Buffer, Region)):
            b_cell, b = part_of(src1, f"the second operand of T.tile.{name}")
            operands.append(("data2", b_cell, b))
            _same_shape(name, target, a, b)
            other: Any = _input(b)
            attributes: tuple[tuple[str, Any], ...] = ()
        else:
            _same_shape(name, target, a)
            number = number_of(src1)
            other = np.asarray(number, _input(a).dtype)
            attributes = () if isinstance(src1, Load) else (("operand", number),)
        _write(target, function(_input(a).reshape(target.shape), other.reshape(target.shape) if other.ndim else other))
        current().record(name, operands, attributes)

    operation.__name__ = name
    return operation


def unary(name: str) -> Callable[..., None]:
    """``T.tile.<name>(dst, src)``."""
    function = UNARY[name]

    def operation(dst: Any, src: Any) -> None:
        cell, target = part_of(dst, f"the destination of T.tile.{name}")
        from_cell, source = part_of(src, f"the operand of T.tile.{name}")
        _same_shape(name, target, source)
        _write(target, function(_input(source).reshape(target.shape)))
        current().record(name, [("dst", cell, target), ("data", from_cell, source)])

    operation.__name__ = name
    return operation


def cast(dst: Any, src: Any, mode: str = "CAST_NONE", count: Any = None) -> None:
    """``T.tile.cast(dst, src, mode, count)``: to nearest, ties to even; other modes are not modelled for integers."""
    cell, target = part_of(dst, "the destination of T.tile.cast")
    from_cell, source = part_of(src, "the operand of T.tile.cast")
    number = target.size if count is None else int(number_of(count))
    if is_integer(target.dtype) and mode not in ("CAST_NONE", "CAST_RINT"):
        raise NotModelled(f"T.tile.cast to integers with mode '{mode}'")
    if number > min(target.size, source.size):
        raise AscendError(f"T.tile.cast of {number} elements: there are {source.size} and {target.size}")
    target.reshape(-1)[:number] = convert(source.reshape(-1)[:number], target.dtype)
    current().record("cast", [("dst", cell, target), ("data", from_cell, source)], (("count", number),))


def broadcast(dst: Any, src: Any) -> None:
    """``T.tile.broadcast``: dimensions of one element are repeated."""
    cell, target = part_of(dst, "the destination of T.tile.broadcast")
    from_cell, source = part_of(src, "the operand of T.tile.broadcast")
    values = source if source.ndim == target.ndim else source.reshape(source.shape + (1,) * (target.ndim - source.ndim))
    try:
        target[...] = convert(np.broadcast_to(values, target.shape), target.dtype)
    except ValueError:
        raise AscendError(f"T.tile.broadcast of {list(source.shape)} to {list(target.shape)}") from None
    current().record("broadcast", [("dst", cell, target), ("data", from_cell, source)])


_REDUCTIONS: dict[str, Callable[..., Any]] = {
    "sum": np.sum,
    "max": np.max,
    "min": np.min,
    "absmax": lambda x, axis: np.max(np.abs(x), axis=axis),
}


def reduction(name: str) -> Callable[..., None]:
    """``T.reduce_<name>(src, out, dim)``."""
    function = _REDUCTIONS[name]

    def operation(buffer: Any, out: Any, *rest: Any, dim: int = -1, clear: bool = True, **more: Any) -> None:
        dims = [item for item in rest if isinstance(item, int)]
        if more or len(rest) > 2 or not clear:
            raise NotModelled(f"T.reduce_{name} with other arguments than source, destination and dimension")
        axis = dims[0] if dims else dim
        cell, target = part_of(out, f"the destination of T.reduce_{name}")
        from_cell, source = part_of(buffer, f"the operand of T.reduce_{name}")
        wide = _input(source)
        wide = wide.astype(np.float64) if wide.dtype == np.float32 and name == "sum" else wide
        result = function(wide, axis=axis)
        if result.size != target.size:
            raise AscendError(f"T.reduce_{name} gives {list(result.shape)} elements into {list(target.shape)}")
        narrow = result.astype(np.float32) if result.dtype == np.float64 else result
        _write(target, narrow.reshape(target.shape))
        current().record(f"reduce_{name}", [("dst", cell, target), ("data", from_cell, source)], (("dim", axis),))

    operation.__name__ = f"reduce_{name}"
    return operation


def matmul(
    A: Any, B: Any, C: Any, transpose_A: bool = False, transpose_B: bool = False, init: Any = False, **more: Any
) -> None:
    """``T.gemm_v0``: ``C (+)= A @ B``. ``init`` overwrites ``C``."""
    if more:
        raise NotModelled(f"T.gemm_v0 with {min(more)}=")
    a_cell, a = part_of(A, "the first operand of a matmul")
    b_cell, b = part_of(B, "the second operand of a matmul")
    c_cell, c = part_of(C, "the accumulator of a matmul")
    left: Array = a.reshape(a.shape[-2:]).T if transpose_A else a.reshape(a.shape[-2:])
    right: Array = b.reshape(b.shape[-2:]).T if transpose_B else b.reshape(b.shape[-2:])
    target: Array = c.reshape(c.shape[-2:])
    if left.shape[1] != right.shape[0] or target.shape != (left.shape[0], right.shape[1]):
        raise AscendError(f"a matmul of {list(left.shape)} and {list(right.shape)} into {list(target.shape)}")
    start = bool(number_of(init))
    product = left.astype(np.float64) @ right.astype(np.float64)
    total = product if start else product + target.astype(np.float64)
    target[...] = total.astype(np.float32).astype(target.dtype)
    operands = [("dst", c_cell, c), ("data1", a_cell, a), ("data2", b_cell, b)]
    current().record("matmul", operands, (("init", start),))


def _input(array: Array) -> Array:
    return array.astype(np.int64) if is_integer(array.dtype) else to_float32(array)


def _write(target: Array, values: Any) -> None:
    result = np.asarray(values)
    if result.dtype == np.float64:
        result = result.astype(np.float32)
    target[...] = convert(result, target.dtype).reshape(target.shape)


def _same_shape(name: str, *arrays: Array) -> None:
    shapes = {_squeezed(array.shape) for array in arrays}
    if len(shapes) > 1:
        listed = ", ".join(str(list(array.shape)) for array in arrays)
        raise AscendError(f"T.tile.{name} takes operands of one shape, not {listed}")
