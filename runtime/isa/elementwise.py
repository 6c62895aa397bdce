"""Instructions that work element by element (ScalarE, VectorE, GpSimd, and the DMA engines' copies)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import KernelError
from ..memory import Array, View
from ..numerics import FLOAT32, is_integer, to_float32
from ..packed import is_packed, type_name
from ..spec.operators import BITWISE, MIRRORED, one_spelling
from .core import Result, result_of
from .operators import ACTIVATIONS, alu, apply_alu
from .quotients import inverse
from .reductions import reduce_free

Scalar = int | float
Operand = View | Scalar


def copy(op: str, src: View) -> Result:
    """``tensor_copy``, ``dma_copy``: the same bits where the types are equal, through fp32 where they differ."""
    return result_of(op, src.array, (("src", src),))


def memset(shape: tuple[int, ...], value: Scalar, dtype: np.dtype[Any]) -> Result:
    """``value`` everywhere. Of a packed type all four elements are set, and only 0 is known how to."""
    if is_packed(dtype):
        if value != 0:
            raise KernelError("", f"memset: a tensor of type {type_name(dtype)} can be set to 0 only, not to {value}")
        return result_of("memset", np.zeros(shape, dtype), (), (("value", value),))
    number = np.array(value, np.int64 if is_integer(dtype) and isinstance(value, int) else np.float32)
    values: Array = np.ndarray(shape, number.dtype, number, strides=(0,) * len(shape))  # one number, however often
    return result_of("memset", values, (), (("value", value),))


def activation(
    op: str,
    data: View,
    *,
    bias: Operand | None = None,
    scale: Operand = 1.0,
    reduce_op: str | None = None,
    name: str = "activation",
) -> tuple[Result, Array | None]:
    """``op(data * scale + bias)`` in fp32; ``bias`` and ``scale`` are numbers or (P, 1) operands.

    Returns the result and, with ``reduce_op``, its reduction over the free dimensions as (P, 1) fp32.
    """
    if op not in ACTIVATIONS:
        raise KernelError("", f"expecting activation function, got '{op}'")
    x = to_float32(data.array)
    reads = [("data", data)]
    attributes: list[tuple[str, Any]] = [("op", op)]
    if isinstance(scale, View):
        reads.append(("scale", scale))
        x = x * per_partition(scale, x.ndim)
    elif scale != 1.0:
        attributes.append(("scale", float(scale)))
        x = x * np.float32(scale)
    if isinstance(bias, View):
        reads.append(("bias", bias))
        x = x + per_partition(bias, x.ndim)
    elif bias:
        attributes.append(("bias", float(bias)))
        x = x + np.float32(bias)
    values = ACTIVATIONS[op](x)
    reduced = None
    if reduce_op is not None:
        attributes.append(("reduce_op", reduce_op))
        reduced = reduce_free(reduce_op, values)
    return result_of(name, values, tuple(reads), tuple(attributes)), reduced


def reciprocal(data: View) -> Result:
    return result_of("reciprocal", np.float32(1) / to_float32(data.array), (("data", data),))


def per_partition(value: Operand, ndim: int) -> Array | np.float32:
    """A scalar, or a (P, 1) operand shaped to broadcast over the free dimensions of an array of ``ndim`` dimensions."""
    if not isinstance(value, View):
        scalar: np.float32 = np.float32(value)
        return scalar
    array: Array = to_float32(value.array)
    if array.ndim == ndim or array.size != array.shape[0]:
        return array
    column: Array = array.reshape(array.shape[0], *[1] * (ndim - 1))
    return column


def tensor_scalar(
    data: View,
    op0: str,
    operand0: Operand,
    reverse0: bool = False,
    op1: str | None = None,
    operand1: Operand | None = None,
    reverse1: bool = False,
) -> Result:
    """``(data op0 operand0) op1 operand1``; an operand is a number or (P, 1); ``reverse`` swaps the two sides."""
    reads = [("data", data)]
    attributes: list[tuple[str, Any]] = []
    x = _operand(data.array, op0)
    x = _step(x, op0, operand0, reverse0, "0", reads, attributes)
    if op1 is not None:
        x = _step(x, op1, operand1, reverse1, "1", reads, attributes)  # type: ignore[arg-type]  # op1 is given
    return result_of("tensor_scalar", x, tuple(reads), tuple(attributes))


_ROLES = {"0": ("op0", "operand0", "reverse0"), "1": ("op1", "operand1", "reverse1")}


def _operand(array: Array, op: str) -> Array:
    return array if op in BITWISE else to_float32(array)


def _step(
    x: Array, op: str, operand: Operand, reverse: bool, index: str, reads: list[tuple[str, View]], attributes: list[Any]
) -> Array:
    operator, role, reversal = _ROLES[index]
    recorded, swapped = one_spelling(op, reverse)
    attributes.append((operator, recorded))
    if isinstance(operand, View):
        reads.append((role, operand))
        raw = _operand(operand.array, op)
        other: Any = raw.reshape(raw.shape[0], *[1] * (x.ndim - 1)) if raw.size == raw.shape[0] else raw
    else:
        attributes.append((role, operand if op in BITWISE else float(operand)))
        other = _bits(op, operand, x.dtype) if op in BITWISE else np.float32(operand)
        factor = inverse(operand) if op == "divide" and not reverse else None
        if factor is not None:
            return apply_alu("multiply", x, np.asarray(factor))
    if swapped:
        attributes.append((reversal, True))
    return apply_alu(op, other, x) if reverse else apply_alu(op, x, other)


def _bits(op: str, operand: Scalar, dtype: np.dtype[Any]) -> Any:
    """An immediate of a bitwise operator on elements of an integer ``dtype``: -1 is all ones, signed or not."""
    size = 8 * dtype.itemsize
    if not is_integer(dtype) or int(operand) != operand or not -(1 << (size - 1)) <= operand < 1 << size:
        raise KernelError(
            "", f"'{op}' of elements of type {dtype.name} and {operand}, which is no number of {size} bits"
        )
    return np.array(int(operand) % (1 << size), np.dtype(f"u{dtype.itemsize}")).view(dtype)[()]


_EXACT = ("add", "subtract", "multiply")
_WORDS = (np.dtype(np.int32).char, np.dtype(np.uint32).char)


def tensor_tensor(data1: View, data2: View, op: str) -> Result:
    """``data1 op data2``: fp32, except bitwise operators (raw bits) and 32-bit integer arithmetic (exact)."""
    a, b = data1.array, data2.array
    exact = a.dtype is not FLOAT32 and op in _EXACT and a.dtype.char in _WORDS and b.dtype.char in _WORDS
    if exact:
        a, b = a.astype(np.int64), b.astype(np.int64)
    elif op not in BITWISE:
        a, b = to_float32(a), to_float32(b)
    values = apply_alu(op, a, b if b.shape == a.shape else align(b, a))
    if exact:
        values = values.astype(np.uint32).view(data1.array.dtype)
    return result_of("tensor_tensor", values, (("data1", data1), ("data2", data2)), (("op", op),))


def align(b: Array, a: Array) -> Array:
    """``b`` shaped like ``a`` where both have the same elements a partition; (P, 1) gets ``a``'s rank to broadcast."""
    if b.size == a.size and b.shape[0] == a.shape[0]:
        return b.reshape(a.shape)
    if b.ndim < a.ndim and b.size == b.shape[0]:
        return b.reshape(b.shape[0], *[1] * (a.ndim - 1))
    return b


def scalar_tensor_tensor(
    data: View, op0: str, operand0: Operand, op1: str, operand1: View, reverse0: bool = False, reverse1: bool = False
) -> Result:
    """``(data op0 operand0) op1 operand1``; ``operand0`` a number or (P, 1), ``operand1`` as large as ``data``."""
    reads = [("data", data)]
    attributes: list[tuple[str, Any]] = []
    x = _step(to_float32(data.array), op0, operand0, reverse0, "0", reads, attributes)
    recorded, swapped = one_spelling(op1, reverse1)
    attributes.append(("op1", recorded))
    reads.append(("operand1", operand1))
    other = align(to_float32(operand1.array), x)
    if swapped:
        attributes.append(("reverse1", True))
    values = apply_alu(op1, other, x) if reverse1 else apply_alu(op1, x, other)
    return result_of("scalar_tensor_tensor", values, tuple(reads), tuple(attributes))


def tensor_tensor_scan(
    data0: View, data1: View, initial: Operand, op0: str, op1: str, reverse0: bool = False, reverse1: bool = False
) -> Result:
    """``r[:, i] = op1(op0(data0[:, i], r[:, i-1]), data1[:, i])``, with ``initial`` before the first; state in fp32."""
    reads = [("data0", data0), ("data1", data1)]
    attributes: list[tuple[str, Any]] = [("op0", op0), ("op1", op1)]
    state: Array
    if isinstance(initial, View):
        reads.append(("initial", initial))
        state = to_float32(initial.array).reshape(-1)
    else:
        attributes.append(("initial", float(initial)))
        state = np.full(data0.array.shape[0], initial, np.float32)
    a, b = to_float32(data0.array), align(to_float32(data1.array), data0.array)
    b = b if b.shape == a.shape else np.broadcast_to(b, a.shape)
    flat_a, flat_b = (np.asfortranarray(x.reshape(x.shape[0], -1)) for x in (a, b))
    values = np.empty_like(flat_a)
    first, second = alu(op0), alu(op1)
    for column_a, column_b, column in zip(flat_a.T, flat_b.T, values.T, strict=True):
        step = first(state, column_a) if reverse0 else first(column_a, state)
        state = second(column_b, step) if reverse1 else second(step, column_b)
        column[...] = state
    for index, reverse in (("0", reverse0), ("1", reverse1)):
        if reverse:
            attributes.append((f"reverse{index}", True))
    return result_of("tensor_tensor_scan", values.reshape(a.shape), tuple(reads), tuple(attributes))


def affine_select(predicate: Array, on_true: View, on_false: float, attributes: tuple[tuple[str, Any], ...]) -> Result:
    """``on_true`` where ``predicate`` (booleans of its shape), the fp32 number ``on_false`` elsewhere.

    ``attributes`` describe the predicate the same way in both front ends (:func:`affine_attributes`).
    """
    values = np.where(np.broadcast_to(predicate, on_true.array.shape), to_float32(on_true.array), np.float32(on_false))
    described = (*_one_predicate(attributes), ("on_false", float(on_false)))
    return result_of("affine_select", values, (("on_true", on_true),), described)


def _one_predicate(attributes: tuple[tuple[str, Any], ...]) -> tuple[tuple[str, Any], ...]:
    """A predicate in the one form of ``10 < i`` and ``i > 10``: its first step that is not 0 is positive."""
    told = dict(attributes)
    steps = [told["channel_multiplier"], *(step for step, _ in told["pattern"])]
    if next((step for step in steps if step), 1) > 0:
        return attributes
    turned = {name: -told[name] for name in ("offset", "channel_multiplier")}
    pattern = tuple((-step, count) for step, count in told["pattern"])
    operator = MIRRORED.get(told["cmp_op"], told["cmp_op"])
    return tuple({**told, **turned, "pattern": pattern, "cmp_op": operator}.items())


def select(op: str, predicate: View, on_true: Operand, on_false: Operand) -> Result:
    """``on_true`` where ``predicate`` is not 0, else ``on_false``; each a tile, a (P, 1) tile or a number."""
    chosen = predicate.array != 0
    tile = next((v.array for v in (on_true, on_false) if isinstance(v, View) and v.array.size == chosen.size), chosen)
    chosen = chosen.reshape(tile.shape)  # free dimensions of an access pattern count elements only
    reads = [("predicate", predicate)]
    attributes: list[tuple[str, Any]] = []
    sides = []
    for role, value in (("on_true", on_true), ("on_false", on_false)):
        if isinstance(value, View):
            reads.append((role, value))
        else:
            attributes.append((role, float(value)))
        sides.append(per_partition(value, chosen.ndim))
    return result_of(op, np.where(chosen, sides[0], sides[1]), tuple(reads), tuple(attributes))


def iota(values: Array, attributes: tuple[tuple[str, Any], ...] = ()) -> Result:
    """Index values, computed in int32."""
    return result_of("iota", values.astype(np.int32), (), attributes)
