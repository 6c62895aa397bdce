"""Elementwise ``nl`` functions and the operators of tiles.

``nl.multiply(tile, number or (P, 1) tile)`` is a ``tensor_scalar``, of two tiles a ``tensor_tensor``, ``nl.exp`` an
``activation``, ``nl.divide(1.0, x)`` a ``reciprocal``: the same instructions that a Beta 2 kernel would write.
"""

from __future__ import annotations

from math import frexp
from typing import Any

import numpy as np

from .. import isa
from ..errors import KernelError, shown
from ..isa.core import Result
from ..numerics import DTYPES, is_integer
from ..spec.operators import COMMUTATIVE
from .base import Shape, Tensor
from .broadcast import spread_rows
from .division import quotient, remainder
from .indexing import Index, broadcast
from .operands import alike, is_vector, mismatch
from .pending import Call, call_of, copied_to_sbuf, implied, number
from .promotion import BOOLEAN, promoted
from .runtime_index import RuntimeIndex, runtime_values
from .tensor import Tile
from .tokens import dtype_of


def operator_result(op: str, x: Any, y: Any) -> Any:
    """``x op y`` for Python's operators; no broadcast over partitions. With an index vector it is a runtime index."""
    for vector, tile in ((x, y), (y, x)):
        if isinstance(vector, (Index, RuntimeIndex)):
            return _shifted(op, vector, tile, swapped=vector is x)
    kind = promoted(op, x, y)
    whole = quotient(x, y, kind) if op == "divide" else remainder(x, y, kind, kind) if op == "mod" else None
    if whole is not None:
        return implied(whole)
    call = call_of(op)
    result, shape = binary(call, op, x, y, broadcast_partitions=False)
    if op == "divide":
        _round_quotient(result, kind)
    return call.give(result, shape, kind)


def _shifted(op: str, vector: Any, tile: Any, swapped: bool) -> Any:
    index = RuntimeIndex(runtime_values(tile))
    if op == "add":
        return index + vector
    if op == "subtract":
        return (index * -1) + vector if swapped else index - vector
    raise KernelError("", f"'{op}' of an index vector and a tile is not an index")


def elementwise(call: Call, x: Any, y: Any, dtype: Any = None) -> Tile:
    """``nl.<op of call>(x, y)``, of anything but a division."""
    wanted = promoted(call.op, x, y) if dtype is None else dtype_of(dtype)
    result, shape = binary(call, call.op, x, y, broadcast_partitions=True)
    return call.give(result, shape, wanted, explicit=dtype is not None)


def divide(x: Any, y: Any, *, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    """The quotient of two tiles, or of a tile and a number, element by element."""
    kind = promoted("divide", x, y)
    wanted = kind if dtype is None else dtype_of(dtype)
    whole = quotient(x, y, wanted) if mask is None and is_integer(kind) else None
    if whole is not None:
        return whole if dtype is not None else implied(whole)
    call = call_of("divide", mask)
    result, shape = binary(call, "divide", x, y, broadcast_partitions=True)
    _round_quotient(result, kind)
    return call.give(result, shape, wanted, explicit=dtype is not None)


def _round_quotient(result: Result | None, kind: np.dtype[Any]) -> None:
    """A quotient of integers has an integer type by promotion, and loses its fraction there.

    The documents do not say how; ``reference/vision.py:219`` of nki-samples takes rows from positions that way.
    """
    if result is not None:
        result.truncates = is_integer(kind)


def _with_number(call: Call, op: str, x: Any, y: Any) -> tuple[Result | None, Shape]:
    """:func:`binary` of a tile and a number."""
    reverse = not isinstance(x, Tensor)
    if reverse and not isinstance(y, Tensor):
        raise KernelError("", f"'{call.op}' needs at least one tile, got {shown(x)} and {shown(y)}")
    tile, scalar = (call.source("y", y), x) if reverse else (call.source("x", x), y)
    shape: Shape = tile.shape
    if call.region.skip:
        return None, shape
    value = number(scalar, "y", call.op)
    if reverse and op == "divide" and value == 1:
        return isa.reciprocal(call.view(tile)), shape
    if op == "divide" and not reverse and abs(frexp(value)[0]) == 0.5:
        op, value = "multiply", 1 / value  # the same bits, and what Beta 2 can write
    return isa.tensor_scalar(call.view(tile), op, value, reverse and op not in COMMUTATIVE), shape


def binary(call: Call, op: str, x: Any, y: Any, *, broadcast_partitions: bool) -> tuple[Result | None, Shape]:
    """The instruction that computes ``x op y``, and the shape of the whole result (``None``: masked out altogether)."""
    if not (isinstance(x, Tensor) and isinstance(y, Tensor)):
        return _with_number(call, op, x, y)
    a, b = call.source("x", x), call.source("y", y)
    if a.shape[0] != b.shape[0]:
        if not (broadcast_partitions and 1 in (a.shape[0], b.shape[0])):
            raise mismatch(call.op, ("x", a), ("y", b))
        if not call.region.skip:
            a, b = _on_all_rows(call, a, b), _on_all_rows(call, b, a)
    elif a.shape[0] == 1 and broadcast_partitions and not call.region.skip:
        _may_be_copied(call, a, b)
    if a.alloc.space == b.alloc.space == "psum" and not call.region.skip and not call.state.allocated:
        b = copied_to_sbuf(call, b)  # one operand at most is read from PSUM
    return _of_tiles(call, op, a, b)


def _on_all_rows(call: Call, tile: Tile, other: Tile) -> Tile:
    """``tile`` on the partitions of ``other``, where it has only one."""
    spread = spread_rows(tile, (other.shape[0], *tile.shape[1:]))
    if spread is None:
        return tile
    call.reserve()
    return spread


def _may_be_copied(call: Call, *tiles: Tile) -> None:
    """Note that tiles of one partition are used as they are, where a kernel for every number of partitions copies one
    of them to all (:func:`_on_all_rows`).
    """
    recorder = call.state.machine.recorder
    if recorder is None:
        return
    for tile in tiles:
        if tile.ndim > 1 and tile.space != "hbm":
            recorder.passes(call.op, call.view(tile), call.sequence)


def _of_tiles(call: Call, op: str, a: Tile, b: Tile) -> tuple[Result | None, Shape]:
    skip, shape = call.region.skip, a.shape
    if shape != b.shape:
        if shape[0] == b.shape[0] and is_vector(b):
            return None if skip else isa.tensor_scalar(call.view(a), op, call.view(b)), shape
        if shape[0] == b.shape[0] and is_vector(a):
            reverse = op not in COMMUTATIVE
            return None if skip else isa.tensor_scalar(call.view(b), op, call.view(a), reverse), b.shape
        shape = broadcast(shape, b.shape)
    return None if skip else isa.tensor_tensor(*alike(call.view(a), call.view(b)), op), shape


def unary(call: Call, x: Any, dtype: Any = None) -> Tile:
    """``nl.<op of call>(x)``: an activation without bias and scale."""
    op, tile = call.op, call.source("x", x)
    _check_bias(call, op)
    result = None if call.region.skip else isa.activation(op, call.view(tile))[0]
    default = DTYPES["bool_"] if op in BOOLEAN else tile.dtype
    return call.give(result, tile.shape, default if dtype is None else dtype_of(dtype), explicit=dtype is not None)


def _check_bias(call: Call, op: str) -> None:
    if call.state.allocated:
        raise KernelError(
            "err_bias_tensor_must_be_specified_in_allocation",
            f"nl.{op} maps to nisa.activation, whose bias argument must be specified in allocated NKI kernels",
        )


def negated(x: Tensor, *, dtype: Any = None, mask: Any = None) -> Tile:
    """``-x``, computed as ``x * -1``."""
    call = call_of("negative", mask)
    result, shape = binary(call, "multiply", x, -1.0, broadcast_partitions=False)
    return call.give(result, shape, x.dtype if dtype is None else dtype_of(dtype), explicit=dtype is not None)


def inverted(x: Tensor) -> Tile:
    """``~x``: the bits of an integer, the truth of a boolean."""
    call = call_of("invert")
    tile = call.tile("x", x)
    op = "equal" if tile.dtype.kind == "b" else "bitwise_xor"
    result, shape = binary(call, op, tile, 0 if op == "equal" else -1, broadcast_partitions=False)
    return call.give(result, shape, tile.dtype)


def reciprocal(call: Call, x: Any, dtype: Any = None) -> Tile:
    """``1 / x``."""
    tile = call.source("data", x)
    result = None if call.region.skip else isa.reciprocal(call.view(tile))
    return call.give(result, tile.shape, tile.dtype if dtype is None else dtype_of(dtype), explicit=dtype is not None)
