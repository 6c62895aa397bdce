"""ScalarE and VectorE instructions of ``nisa``."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import isa
from ..errors import KernelError
from ..isa.core import Result
from ..isa.reductions import reduce_free
from ..memory import Array
from ..numerics import DTYPES, is_integer
from ..spec.instructions import GPSIMD_INTEGERS, GPSIMD_OPERATORS
from ..spec.operators import BITWISE
from .base import Tensor
from .indexing import Index, Mask, vector_of
from .operands import alike, is_vector, mismatch, over
from .pending import Call, call_of, copied_to_sbuf
from .promotion import promoted
from .tensor import Tile
from .tokens import ReduceCmd, dtype_of, engine_name, engine_of, operator_token

_IDLE = ReduceCmd.idle
"""Asked for in each activation: Python 3.11 takes long to find a member in its class."""
_BIAS_TYPES = frozenset(DTYPES[name] for name in ("float32", "float16", "bfloat16"))


def _partitions(call: Call, first: tuple[str, Tile], *others: tuple[str, Any]) -> None:
    """All tile operands have the partitions of the first."""
    for role, other in others:
        if isinstance(other, Tensor) and other.as_tile().shape[0] != first[1].shape[0]:
            raise mismatch(call.op, first, (role, other.as_tile()))


def _vector(call: Call, role: str, operand: Any, data: Tile) -> None:
    """``operand`` is a number or has one element for each partition of ``data``."""
    if isinstance(operand, Tensor):
        tile = operand.as_tile()
        _partitions(call, ("data", data), (role, tile))
        if not is_vector(tile):
            raise KernelError(
                "",
                f"operand '{role}' of '{call.op}' must be a number or have one element a partition, got {tile!r}",
            )


def activation(
    op: Any,
    data: Any,
    *,
    bias: Any = None,
    scale: Any = 1.0,
    reduce_op: Any = None,
    reduce_res: Any = None,
    reduce_cmd: Any = ReduceCmd.idle,
    mask: Any = None,
    dtype: Any = None,
    **_: Any,
) -> Tile:
    """``op(data * scale + bias)`` in fp32; ``scale`` a number or (P, 1) fp32, ``bias`` (P, 1).

    ``reduce_cmd`` works on 128 registers that all activations share: ``reset`` clears them, ``reduce`` adds the sum of
    the result over the free dimensions, ``reset_reduce`` does both; ``reduce_res`` (P, 1) receives them.
    """
    call = call_of("activation", mask)
    command = reduce_cmd if type(reduce_cmd) is ReduceCmd else ReduceCmd(int(reduce_cmd))
    return _activate(call, op, data, bias, scale, reduce_op, reduce_res, command, dtype)


def activation_reduce(
    op: Any,
    data: Any,
    *,
    reduce_op: Any,
    reduce_res: Any,
    bias: Any = None,
    scale: Any = 1.0,
    mask: Any = None,
    dtype: Any = None,
    **_: Any,
) -> Tile:
    """:func:`activation` that also writes the sum of its result over the free dimensions to ``reduce_res`` (P, 1)."""
    call = call_of("activation_reduce", mask)
    return _activate(call, op, data, bias, scale, reduce_op, reduce_res, ReduceCmd.reset_reduce, dtype)


def _activate(
    call: Call,
    op: Any,
    data: Any,
    bias: Any,
    scale: Any,
    reduce_op: Any,
    reduce_res: Any,
    command: ReduceCmd,
    dtype: Any,
) -> Tile:
    tile = call.source("data", data)
    _check_activation(call, tile, bias, scale)
    reduction = None if reduce_op is None else operator_token(reduce_op)
    if reduction not in (None, "add"):
        raise KernelError("", f"reduce_op of '{call.op}' must be add, got '{reduction}'")
    default = tile.dtype if dtype is None else dtype_of(dtype)
    if call.region.skip:
        return call.give(None, tile.shape, default)
    view = call.view(tile)
    column = call.view(call.tile("bias", bias)) if isinstance(bias, Tensor) else bias
    factor = scale if type(scale) is float else call.operand("scale", scale)
    result, reduced = isa.activation(
        operator_token(op), view, bias=column, scale=factor, reduce_op=reduction, name=call.op
    )
    if command is not _IDLE and call.op == "activation":
        result.attributes = (*result.attributes, ("reduce_cmd", command.name))
    if reduced is not None and (chosen := call.region.where(view.array.shape)) is not None:
        reduced = reduce_free("add", np.where(chosen, result.values, np.float32(0)))
    if command is not _IDLE or reduce_res is not None:
        _accumulate(call, command, reduced, reduce_res, result)
    return call.give(result, tile.shape, default, explicit=dtype is not None)


def _check_activation(call: Call, tile: Tile, bias: Any, scale: Any) -> None:
    if bias is None and call.state.allocated:
        raise KernelError(
            "err_bias_tensor_must_be_specified_in_allocation",
            "Bias tensor of an activation op must be specified in allocated NKI kernels.",
        )
    if isinstance(bias, Tensor):
        if bias.dtype not in _BIAS_TYPES or not is_vector(bias.as_tile()):
            raise KernelError(
                "err_activation_bias_invalid_type",
                f"Bias parameter of '{call.op}' must be a vector of type float32, float16, or bfloat16, got {bias!r}",
            )
        if bias.shape[0] != tile.shape[0]:
            raise mismatch(call.op, ("data", tile), ("bias", bias.as_tile()))
    elif bias is not None:
        raise KernelError(
            "err_activation_bias_invalid_type",
            f"Bias parameter of '{call.op}' must be a vector of type float32, float16, or bfloat16, got {bias!r}",
        )
    if isinstance(scale, Tensor):
        if not is_vector(scale.as_tile()) or (scale.shape[0] != tile.shape[0]):
            raise KernelError(
                "err_activation_scale_scalar_or_vector",
                f"Scale parameter of '{call.op}' must be either a scalar value or a 1D vector spanning the partition "
                f"dimension, got {scale!r}",
            )
        if scale.dtype != DTYPES["float32"]:
            raise KernelError(
                "err_activation_scale_invalid_type",
                f"Scale parameter of '{call.op}' must be a scalar or vector of type float32, got {scale!r}",
            )


def _accumulate(call: Call, command: ReduceCmd, reduced: Array | None, reduce_res: Any, result: Result) -> None:
    """Work on the accumulator registers of the partitions that take part, and read them into ``reduce_res``."""
    registers = call.state.accumulators
    rows = call.partitions(result.values.shape[0])
    if command in (ReduceCmd.reset, ReduceCmd.reset_reduce):
        registers[rows] = 0
    if command in (ReduceCmd.reduce, ReduceCmd.reset_reduce) and reduced is not None:
        registers[rows] += reduced.reshape(-1)
    if isinstance(reduce_res, Tensor):
        call.second("reduce_res", registers[rows, None].copy(), reduce_res, result)


def tensor_scalar(
    data: Any,
    op0: Any,
    operand0: Any,
    reverse0: bool = False,
    op1: Any = None,
    operand1: Any = None,
    reverse1: bool = False,
    *,
    dtype: Any = None,
    mask: Any = None,
    engine: Any = None,
    **_: Any,
) -> Tile:
    """``(data op0 operand0) op1 operand1``, each operand a number or (P, 1); ``reverse`` swaps the two sides."""
    call = call_of("tensor_scalar", mask)
    if engine is not None:
        call.told(engine=engine_of(engine))
    tile = call.source("data", data)
    for role, operand in (("operand0", operand0), ("operand1", operand1)):
        _vector(call, role, operand, tile)
    default = tile.dtype if dtype is None else dtype_of(dtype)
    if call.region.skip:
        return call.give(None, tile.shape, default)
    second = None if op1 is None else operator_token(op1)
    last = None if op1 is None else call.operand("operand1", operand1)
    first = call.operand("operand0", operand0)
    result = isa.tensor_scalar(
        call.view(tile), operator_token(op0), first, bool(reverse0), second, last, bool(reverse1)
    )
    result.engine = engine_name(engine)
    return call.give(result, tile.shape, default, explicit=dtype is not None)


def tensor_scalar_reduce(
    *,
    data: Any,
    op0: Any,
    operand0: Any,
    reduce_op: Any,
    reduce_res: Any,
    reverse0: bool = False,
    dtype: Any = None,
    mask: Any = None,
    **_: Any,
) -> Tile:
    """``data op0 operand0``; ``reduce_res`` (P, 1) receives its reduction over the free dimensions."""
    call = call_of("tensor_scalar_reduce", mask)
    tile = call.source("data", data)
    _vector(call, "operand0", operand0, tile)
    default = tile.dtype if dtype is None else dtype_of(dtype)
    if call.region.skip:
        return call.give(None, tile.shape, default)
    reduction = operator_token(reduce_op)
    view = call.view(tile)
    result = isa.tensor_scalar(view, operator_token(op0), call.operand("operand0", operand0), bool(reverse0))
    result.op = "tensor_scalar_reduce"
    result.attributes = (*result.attributes, ("reduce_op", reduction))
    values = result.values
    if (chosen := call.region.where(view.array.shape)) is not None:
        values = np.where(chosen, values, np.float32(-np.inf if reduction == "maximum" else 0))
    call.second("reduce_res", reduce_free(reduction, values), reduce_res, result)
    return call.give(result, tile.shape, default, explicit=dtype is not None)


def tensor_tensor(
    data1: Any, data2: Any, op: Any, *, dtype: Any = None, mask: Any = None, engine: Any = None, **_: Any
) -> Tile:
    """``data1 op data2``; the partitions are equal, a (P, 1) operand is repeated along the free dimensions."""
    call = call_of("tensor_tensor", mask)
    if engine is not None:
        call.told(engine=engine_of(engine))
    a, b = call.source("data1", data1), call.source("data2", data2)
    token = operator_token(op)
    if a.shape[0] != b.shape[0]:
        raise mismatch(call.op, ("data1", a), ("data2", b))
    shape = a.shape if not is_vector(a) or is_vector(b) else b.shape
    kind = token if token in BITWISE else "add"  # truth values are no bool here
    default = promoted(kind, a, b) if dtype is None else dtype_of(dtype)
    if call.region.skip:
        return call.give(None, shape, default)
    left, right = call.view(a), call.view(b)
    if a.ndim == b.ndim:
        left, right = alike(left, right)
    elif is_vector(b):
        right = over(right, left)
    elif is_vector(a):
        left = over(left, right)
    result = isa.tensor_tensor(left, right, token)
    result.engine = "gpsimd" if _on_gpsimd(token, a, b) else engine_name(engine)
    return call.give(result, shape, default, explicit=dtype is not None)


def _on_gpsimd(token: str, a: Tile, b: Tile) -> bool:
    """Does only the GpSimd Engine compute ``a token b``?"""
    words = is_integer(a.dtype) and is_integer(b.dtype) and a.dtype.itemsize == b.dtype.itemsize == 4
    return token in GPSIMD_OPERATORS or (words and token in GPSIMD_INTEGERS)


def scalar_tensor_tensor(
    *,
    data: Any,
    op0: Any,
    operand0: Any,
    op1: Any,
    operand1: Any,
    reverse0: bool = False,
    reverse1: bool = False,
    dtype: Any = None,
    mask: Any = None,
    **_: Any,
) -> Tile:
    """``(data op0 operand0) op1 operand1``: ``operand0`` a number or (P, 1), ``operand1`` a tile like ``data``."""
    call = call_of("scalar_tensor_tensor", mask)
    tile, other = call.source("data", data), call.source("operand1", operand1)
    _vector(call, "operand0", operand0, tile)
    _partitions(call, ("data", tile), ("operand1", other))
    default = promoted("add", tile, other) if dtype is None else dtype_of(dtype)
    if call.region.skip:
        return call.give(None, tile.shape, default)
    result = isa.scalar_tensor_tensor(
        call.view(tile),
        operator_token(op0),
        call.operand("operand0", operand0),
        operator_token(op1),
        call.view(other),
        bool(reverse0),
        bool(reverse1),
    )
    return call.give(result, tile.shape, default, explicit=dtype is not None)


def tensor_tensor_scan(
    data0: Any,
    data1: Any,
    initial: Any,
    op0: Any,
    op1: Any,
    reverse0: bool = False,
    reverse1: bool = False,
    *,
    dtype: Any = None,
    mask: Any = None,
    **_: Any,
) -> Tile:
    """``r[:, i] = op1(op0(data0[:, i], r[:, i - 1]), data1[:, i])``; ``initial``, a number or (P, 1), is before."""
    call = call_of("tensor_tensor_scan", mask)
    a, b = call.source("data0", data0), call.source("data1", data1)
    _partitions(call, ("data0", a), ("data1", b))
    _vector(call, "initial", initial, a)
    default = promoted("add", a, b) if dtype is None else dtype_of(dtype)
    if call.region.skip:
        return call.give(None, a.shape, default)
    result = isa.tensor_tensor_scan(
        call.view(a),
        call.view(b),
        call.operand("initial", initial),
        operator_token(op0),
        operator_token(op1),
        bool(reverse0),
        bool(reverse1),
    )
    return call.give(result, a.shape, default, explicit=dtype is not None)


def iota(expr: Any, dtype: Any, *, mask: Any = None, **_: Any) -> Tile:
    """An index expression as a tile, computed in int32. A scalar gives (1, 1)."""
    call = call_of("iota", mask)
    if isinstance(expr, Index):
        index = expr if expr.ndim >= 2 else expr[None, :]
        values, described = index.values(), affine_attributes(index)
    else:
        values = np.full((1, 1), int(expr))
        described = (("pattern", ()), ("offset", int(expr)), ("channel_multiplier", 0))
    shape = values.shape
    cuts = [call.region.interval(d, len(shape), n) for d, n in enumerate(shape)]
    box = tuple(slice(None) if c is None else slice(c.low, c.high) for c in cuts)
    result = None if call.region.skip else isa.iota(values[box], described)
    return call.give(result, shape, dtype_of(dtype), explicit=True)


def affine_attributes(index: Index) -> tuple[tuple[str, Any], ...]:
    """An index vector as Beta 2 writes it: steps of the free dimensions, offset, step of the partitions."""
    steps = tuple((c, n) for c, n in zip(index.coefficients[1:], index.extents[1:], strict=True) if n != 1)
    multiplier = index.coefficients[0] if index.extents[0] > 1 else 0
    return (("pattern", steps), ("offset", int(index.const)), ("channel_multiplier", multiplier))


def affine_select(
    pred: Any, on_true_tile: Any, on_false_value: Any, *, mask: Any = None, dtype: Any = None, **_: Any
) -> Tile:
    """``on_true_tile`` where ``pred``, a comparison of index vectors, holds, ``on_false_value`` elsewhere."""
    call = call_of("affine_select", mask)
    tile = call.source("on_true_tile", on_true_tile)
    default = tile.dtype if dtype is None else dtype_of(dtype)
    if call.region.skip:
        return call.give(None, tile.shape, default)
    if tile.space == "psum" and not call.state.allocated:
        tile = copied_to_sbuf(call, tile)  # GpSimd reads SBUF only
    view = call.view(tile)
    if isinstance(pred, Mask):
        if len(pred.comparisons) != 1:
            raise KernelError("", "pred of 'affine_select' must be one comparison of index expressions")
        comparison = pred.comparisons[0]
        chosen = np.broadcast_to(comparison.values(), tile.shape)
        described = (*affine_attributes(_wide(comparison.difference, tile.shape)), ("cmp_op", comparison.op))
    else:
        chosen = np.broadcast_to(np.asarray(bool(pred)), tile.shape)
        described = (("pattern", ()), ("offset", int(bool(pred))), ("channel_multiplier", 0), ("cmp_op", "not_equal"))
    cuts = [call.region.interval(d, tile.ndim, n) for d, n in enumerate(tile.shape)]
    box = tuple(slice(None) if c is None else slice(c.low, c.high) for c in cuts)
    result = isa.affine_select(chosen[box], view, float(on_false_value), described)
    return call.give(result, tile.shape, default, explicit=dtype is not None)


def _wide(index: Index, shape: tuple[int, ...]) -> Index:
    """``index`` broadcast to ``shape``, as a pattern over all its elements."""
    extra = len(shape) - index.ndim
    coefficients = (0,) * extra + tuple(
        c if n > 1 else 0 for c, n in zip(index.coefficients, index.extents, strict=True)
    )
    return vector_of(index.const, shape, coefficients, (frozenset[int](),) * len(shape))


def where(condition: Any, x: Any, y: Any, *, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    """``x`` where ``condition`` is not 0, else ``y``; both tiles or numbers."""
    call = call_of("where", mask)
    chooser = call.source("condition", condition)
    sides = [call.source(role, side) for role, side in (("x", x), ("y", y)) if isinstance(side, Tensor)]
    default = promoted("add", x, y) if dtype is None else dtype_of(dtype)
    shape = np.broadcast_shapes(chooser.shape, *(side.shape for side in sides))
    if call.region.skip:
        return call.give(None, tuple(shape), default)
    result = isa.select("select", call.view(chooser), call.operand("x", x), call.operand("y", y))
    return call.give(result, tuple(shape), default, explicit=dtype is not None)
