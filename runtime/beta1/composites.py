"""Functions of ``nl`` that are several instructions: transposes through PSUM, means, selections.

The documentation says what they compute, not how. They are the sequences here, which Beta 2 can write too, so that a
migrated kernel can be compared instruction by instruction. Under a mask, and in allocated kernels, which cannot have
the tiles in between, each is one step; but what works on each row by itself is several under a mask of rows, too.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .. import isa
from ..errors import KernelError, NotModelled
from ..numerics import FLOAT32, is_integer
from . import arithmetic, creation, movement, reductions, vector
from . import matmul as matrix
from .base import Tensor
from .broadcast import in_one_step, row_by_row_in_one_step, spread_rows
from .division import remainder
from .indexing import Mask
from .pending import Call, call_of, copied_to_sbuf, implied, number
from .promotion import promoted
from .regions import region
from .tensor import Tile
from .tokens import Engine, dtype_of

VECTOR_LIMIT = 32
"""The largest square that VectorE transposes inside SBUF."""


def transpose(x: Any, *, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    """Transpose a tile of up to 128 x 128 into SBUF: by TensorE into PSUM, then copied. One in PSUM is copied before.

    (TensorE reads SBUF only; ``conv.py:1331`` of nki-samples transposes what a matmul left in PSUM.)
    """
    if in_one_step(mask, x) or not isinstance(x, Tile) or x.ndim != 2 or max(x.shape) > 128:
        return movement.transpose(x, dtype=dtype, mask=mask)
    if x.space == "psum":
        x = copied_to_sbuf(call_of("transpose"), x)
    return movement.tensor_copy(movement.nc_transpose(x), dtype=dtype)


def nc_transpose(data: Any, *, mask: Any = None, dtype: Any = None, engine: Any = Engine.unknown, **_: Any) -> Tile:
    """A transpose, which keeps the type, and a copy where another type is wanted."""
    if dtype is None or in_one_step(mask, data) or not isinstance(data, Tile) or dtype_of(dtype) == data.dtype:
        return movement.nc_transpose(data, mask=mask, dtype=dtype, engine=engine)
    turned = movement.nc_transpose(data, engine=engine)
    return movement.copied(call_of("tensor_copy"), turned, turned.buffer, dtype)


def mean(x: Any, axis: Any, *, dtype: Any = None, mask: Any = None, keepdims: bool = False, **_: Any) -> Tile:
    """The sum over the free dimensions ``axis`` in fp32, times the reciprocal of the count."""
    if not isinstance(x, Tile) or row_by_row_in_one_step(mask, x):
        return reductions.mean(x, axis, dtype=dtype, mask=mask, keepdims=keepdims)
    count = prod(x.shape[a] for a in reductions.free_axes(x, axis, "mean"))
    total = reductions.tensor_reduce(np.add, x, axis, dtype=FLOAT32, mask=mask, keepdims=keepdims)
    kind = dtype if dtype is not None else (FLOAT32 if is_integer(x.dtype) else x.dtype)
    result = vector.tensor_scalar(total, np.multiply, 1.0 / count, dtype=kind, mask=mask)
    return result if dtype is not None else implied(result)


def softmax(x: Any, axis: Any, *, dtype: Any = None, compute_dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    """The exponentials of the distances from the maximum in fp32, times the reciprocal of their sum."""
    if compute_dtype is not None or _is_one_step("softmax", x, axis, mask):
        return reductions.softmax(x, axis, dtype=dtype, compute_dtype=compute_dtype, mask=mask)
    highest = reductions.tensor_reduce(np.max, x, axis, dtype=FLOAT32, mask=mask)
    distances = vector.tensor_scalar(x, np.subtract, highest, dtype=FLOAT32, mask=mask)
    powers = arithmetic.unary(call_of("exp", mask), distances, FLOAT32)
    total = reductions.tensor_reduce(np.add, powers, axis, dtype=FLOAT32, mask=mask)
    scale = arithmetic.reciprocal(call_of("reciprocal", mask), total, FLOAT32)
    result = vector.tensor_scalar(powers, np.multiply, scale, dtype=x.dtype if dtype is None else dtype, mask=mask)
    return result if dtype is not None else implied(result)


def rms_norm(
    x: Any,
    w: Any,
    axis: Any,
    n: Any,
    epsilon: float = 1e-06,
    *,
    dtype: Any = None,
    compute_dtype: Any = None,
    mask: Any = None,
    **_: Any,
) -> Tile:
    """``x`` times the reciprocal root of its mean square over ``n`` elements and ``epsilon``, in fp32, times ``w``."""
    if compute_dtype is not None or not isinstance(w, Tile) or _is_one_step("rms_norm", x, axis, mask):
        return reductions.rms_norm(x, w, axis, n, epsilon, dtype=dtype, compute_dtype=compute_dtype, mask=mask)
    squares = arithmetic.unary(call_of("square", mask), x, FLOAT32)
    total = reductions.tensor_reduce(np.add, squares, axis, dtype=FLOAT32, mask=mask)
    mean_square = vector.tensor_scalar(
        total, np.multiply, 1.0 / n, op1=np.add, operand1=float(epsilon), dtype=FLOAT32, mask=mask
    )
    scale = arithmetic.unary(call_of("rsqrt", mask), mean_square, FLOAT32)
    normed = vector.tensor_scalar(x, np.multiply, scale, dtype=FLOAT32, mask=mask)
    result = arithmetic.elementwise(call_of("multiply", mask), normed, w, x.dtype if dtype is None else dtype)
    return result if dtype is not None else implied(result)


def var(x: Any, axis: Any, *, dtype: Any = None, mask: Any = None, keepdims: bool = False, **_: Any) -> Tile:
    """The mean squared distance from the mean, in fp32."""
    if keepdims or _is_one_step("var", x, axis, mask):
        return reductions.var(x, axis, dtype=dtype, mask=mask, keepdims=keepdims)
    inverse = 1.0 / prod(x.shape[1:])
    total = reductions.tensor_reduce(np.add, x, axis, dtype=FLOAT32, mask=mask)
    average = vector.tensor_scalar(total, np.multiply, inverse, dtype=FLOAT32, mask=mask)
    distances = vector.tensor_scalar(x, np.subtract, average, dtype=FLOAT32, mask=mask)
    squares = arithmetic.unary(call_of("square", mask), distances, FLOAT32)
    summed = reductions.tensor_reduce(np.add, squares, axis, dtype=FLOAT32, mask=mask)
    kind = dtype if dtype is not None else (FLOAT32 if is_integer(x.dtype) else x.dtype)
    result = vector.tensor_scalar(summed, np.multiply, inverse, dtype=kind, mask=mask)
    return result if dtype is not None else implied(result)


def _is_one_step(name: str, x: Any, axis: Any, mask: Any) -> bool:
    """Is a function over ``axis`` one step: also over a part of the free dimensions?"""
    if not isinstance(x, Tile) or row_by_row_in_one_step(mask, x):
        return True
    return len(reductions.free_axes(x, axis, name)) != x.ndim - 1


def where(condition: Any, x: Any, y: Any, *, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    """``x`` where ``condition`` is not 0, else ``y``: ``y`` first, then ``x`` over it where it is chosen.

    If ``x`` is a number it is first, and ``y`` over it where the condition is 0. A mask is a condition, too, which no
    document says: ten public kernels choose by one (``layernorm_kernel`` of Deep-Learning-Profiling-Tools/Tilebench).
    """
    if isinstance(condition, Mask):
        return _where_masked(condition, x, y, dtype, mask)
    sides = [side for side in (x, y) if isinstance(side, Tensor)]
    shape = _common_shape(condition, *sides)
    if in_one_step(mask, condition, *sides) or shape is None:
        return vector.where(condition, x, y, dtype=dtype, mask=mask)
    condition, x, y = (
        t.broadcast_to(shape) if isinstance(t, Tile) and t.shape != shape else t for t in (condition, x, y)
    )
    return _where_in_steps(condition, x, y, dtype)


def _where_in_steps(condition: Any, x: Any, y: Any, dtype: Any) -> Tile:
    """One of the two is there first, then the other one where the condition chooses it; tiles are of one shape."""
    kind = promoted("add", x, y) if dtype is None else dtype_of(dtype)
    is_reversed = not isinstance(x, Tensor)
    first, chosen = (x, y) if is_reversed else (y, x)
    if not isinstance(chosen, Tensor) or chosen.dtype != kind:
        chosen = _filled(chosen, condition.shape, kind)
    else:
        _passed_on("where", chosen)
    if condition.dtype.kind not in "bu":
        condition = vector.tensor_scalar(condition, np.not_equal, 0.0, dtype=np.uint8)
    result = _filled(first, condition.shape, kind)
    movement.tensor_copy_predicated(src=chosen, dst=result, predicate=condition, reverse_pred=is_reversed)
    return result


def _common_shape(*tiles: Any) -> tuple[int, ...] | None:
    """The shape of tiles of one rank on the same partitions, those of size 1 along a free dimension being repeated."""
    if not all(isinstance(tile, Tile) for tile in tiles) or len({(tile.ndim, tile.shape[0]) for tile in tiles}) != 1:
        return None
    sizes = [set(each) for each in zip(*(tile.shape for tile in tiles), strict=True)]
    if any(len(each - {1}) > 1 for each in sizes):
        return None
    return tuple(max(each) for each in sizes)


def _where_masked(condition: Mask, x: Any, y: Any, dtype: Any, mask: Any) -> Tile:
    """``y``, then ``x`` over it where the mask holds."""
    if mask is not None or region(condition).residual:
        raise NotModelled("nl.where by a mask that is no bound of index vectors, or under another mask")
    tiles = [side for side in (x, y) if isinstance(side, Tensor)]
    kind = promoted("add", x, y) if dtype is None else dtype_of(dtype)
    if len({tile.shape for tile in tiles}) != 1 or not _bounds(condition, tiles[0].shape):
        raise NotModelled("nl.where by a mask of other sizes than its tiles")
    shape = tiles[0].shape
    result = _filled(y, shape, kind)
    call = call_of("tensor_copy" if isinstance(x, Tensor) else "memset", condition)
    if call.region.skip:
        return result
    if isinstance(x, Tensor):
        call.write(isa.copy(call.op, call.view(call.source("x", x))), result)
    else:
        call.write(isa.memset(creation.cut(shape, call), number(x, "x", "where"), kind), result)
    return result


def _bounds(mask: Mask, shape: tuple[int, ...]) -> bool:
    """Is a mask one of tiles of ``shape``, of all of their elements or repeated to them?"""
    return len(mask.shape) == len(shape) and all(n in (1, m) for n, m in zip(mask.shape, shape, strict=True))


def floor(x: Any, *, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    """``floor`` into an integer type: a conversion, which rounds up or down, less 1 where it went up."""
    wanted = dtype_of(dtype) if dtype is not None else getattr(x, "dtype", FLOAT32)
    if in_one_step(mask, x) or not isinstance(x, Tile) or not is_integer(wanted) or wanted == np.uint32:
        return arithmetic.unary(call_of("floor", mask), x, dtype)
    if is_integer(x.dtype):
        return movement.tensor_copy(x, dtype=dtype)
    whole = movement.tensor_copy(x, dtype=np.int32)
    up = vector.tensor_tensor(whole, x, np.greater, dtype=FLOAT32)
    result = vector.tensor_tensor(whole, up, np.subtract, dtype=wanted)
    return result if dtype is not None else implied(result)


def mod(x: Any, y: Any, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    """``x - y * floor(x / y)``, of whole numbers without a modulus."""
    kind = promoted("mod", x, y)
    wanted = kind if dtype is None else dtype_of(dtype)
    rest = remainder(x, y, kind, wanted) if mask is None else None
    if rest is None:
        return arithmetic.elementwise(call_of("mod", mask), x, y, dtype)
    return rest if dtype is not None else implied(rest)


def _filled(value: Any, shape: tuple[int, ...], dtype: Any) -> Tile:
    """A tile of ``shape`` with the values of another tile, or with a number."""
    if isinstance(value, Tensor):
        return movement.tensor_copy(value, dtype=dtype)
    return creation.memset(shape, value, dtype)


def _passed_on(function: str, tile: Any, call: Call | None = None) -> None:
    """Note that a function uses a tile as it is, where a kernel for every type and shape copies it."""
    call = call or call_of(function)
    recorder = call.state.machine.recorder
    if recorder is not None:
        recorder.passes(function, call.view(tile), call.sequence)


def broadcast_to(src: Any, *, shape: Any, **_: Any) -> Any:
    """``src`` repeated to ``shape``, over the partitions too; ``src`` itself where the shapes are equal.

    A mask holds for what it is repeated to as it is.
    """
    wanted = tuple(int(n) for n in shape)
    if isinstance(src, Mask):
        if not _bounds(src, wanted):
            raise KernelError("", f"{src!r} cannot be repeated to {list(wanted)}")
        return src
    call = call_of("broadcast_to")
    tile = call.tile("src", src)
    if tile.shape == wanted:
        _passed_on("broadcast_to", tile, call)
        return tile
    if tile.shape[0] != wanted[0]:
        spread = spread_rows(tile, wanted)
        if spread is not None:
            return spread
    wide = tile.broadcast_to(wanted)
    movement.check_partitions(wanted, "broadcast_to")
    return call.give(isa.copy("tensor_copy", call.view(wide)), wanted, tile.dtype)


def matmul(x: Any, y: Any, *, transpose_x: bool = False, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    """``x @ y`` in PSUM; unless ``transpose_x``, ``x`` is transposed first (:func:`transpose`)."""
    if not transpose_x and not in_one_step(mask, x, y) and isinstance(x, Tile) and x.ndim == 2 and max(x.shape) <= 128:
        return matrix.matmul(transpose(x), y, transpose_x=True, dtype=dtype)
    return matrix.matmul(x, y, transpose_x=transpose_x, mask=mask, dtype=dtype)
