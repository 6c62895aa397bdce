"""``nki.language`` of NKI 0.3: functions on tiles, each a few instructions and a new tile.

They give back tiles in SBUF (``matmul`` and ``transpose`` in PSUM) and broadcast nothing. Without ``dtype`` a result
has the type of its tile, of two tiles the one of higher precision; comparisons give 0 and 1 of that type. Source: the
stubs of ``nki.language`` in the 2.29 documentation, ``reference/beta2.md`` sections 1.5 and 6.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any

import numpy as np

from .. import isa, session
from ..errors import KernelError, NotModelled
from ..numerics import DTYPES, is_integer
from ..spec.dtypes import promote
from ..spec.operators import BITWISE, COMMUTATIVE
from . import isa_memory, isa_search, language, state, values
from .buffers import BUFFERS, Buffer, buffer
from .declare import result_tile
from .isa_compute import check_integers
from .isa_matmul import nc_matmul, nc_transpose
from .isa_reduce import reduced_axes
from .isa_registers import untracked
from .operands import deliver, not_both_in_psum, on_chip, same_extent
from .signature import builtin
from .tensor import NkiTensor

Function = Callable[..., Any]
_SBUF = BUFFERS["sbuf"]


def _new(shape: tuple[int, ...], dtype: Any, place: Buffer = _SBUF) -> NkiTensor:
    """A tile that an instruction writes."""
    return result_tile(shape, values.data_type(dtype), place, written=False)


def _whole(shape: tuple[int, ...], dtype: Any, place: Buffer = _SBUF) -> NkiTensor:
    """A tile that :func:`deliver` writes a whole result to."""
    return result_tile(shape, values.data_type(dtype), place, written=True)


def _named(name: str, function: Function) -> Function:
    function.__name__ = name
    return builtin("nki.language")(function)


# --- element by element ----------------------------------------------------------------------------------------------


def _binary(name: str) -> Function:
    def function(x: Any, y: Any, dtype: Any = None) -> NkiTensor:
        tiles = [on_chip(value, role) for role, value in (("x", x), ("y", y)) if isinstance(value, NkiTensor)]
        if not tiles:
            raise KernelError("", f"nki.language.{name}: one of x and y must be a tile")
        wanted = dtype if dtype is not None else _promotion(tiles[0].dtype, tiles[-1].dtype)
        dst = _whole(tiles[0].shape, wanted)
        if name in BITWISE:
            check_integers(name, *tiles, dst)
        if len(tiles) == 2:
            same_extent(name, ("x", "y"), tiles[0], tiles[1])
            not_both_in_psum(name, tiles[0], tiles[1], "x and y")
            deliver(isa.tensor_tensor(tiles[0], tiles[1], name), dst)
        else:
            is_left = isinstance(y, NkiTensor)
            number = values.number(x if is_left else y)
            deliver(isa.tensor_scalar(tiles[0], name, number, is_left and name not in COMMUTATIVE), dst)
        return dst

    return _named(name, function)


@cache
def _promotion(first: np.dtype[Any], second: np.dtype[Any]) -> np.dtype[Any]:
    """The type of the result of two tiles that is given none. (NumPy puts the name of a type together each time.)"""
    return DTYPES[promote(first.name, second.name)]


def _unary(name: str) -> Function:
    def function(x: Any, dtype: Any = None) -> NkiTensor:
        source = on_chip(x, "x")
        stays = name == "copy" and not state.rules().exact_copy
        place = BUFFERS[source.alloc.space] if stays else _SBUF
        dst = _whole(source.shape, source.dtype if dtype is None else dtype, place)
        if name == "copy":
            result = _copied(source)
        elif name == "invert":
            check_integers(name, source, dst)
            result = isa.tensor_scalar(source, name, 0)
        elif name == "reciprocal":
            result = isa.reciprocal(source)
        elif name == "rsqrt":
            result, _ = isa.activation(name, _read_by_rsqrt(source))
        else:
            result, _ = isa.activation(name, source)
        deliver(result, dst)
        return dst

    return _named(name, function)


def _copied(source: NkiTensor) -> isa.Result:
    """Until 0.5 the Scalar Engine copies, by way of fp32; from 0.6 on the Vector Engine does, bit by bit, into SBUF."""
    if state.rules().exact_copy or source.dtype.itemsize < 4 or not is_integer(source.dtype):
        return isa.copy("tensor_copy", source)
    return isa.activation("copy", source)[0]


def _read_by_rsqrt(source: NkiTensor) -> NkiTensor:
    if source.alloc.space == "psum" and not state.rules().rsqrt_reads_psum:
        raise KernelError("", f"nki.language.rsqrt does not read PSUM: '{source.label}'; nki.isa.activation does")
    return source


def where(condition: Any, x: Any, y: Any, dtype: Any = None) -> NkiTensor:
    """Elements of ``x`` where ``condition`` is not 0, of ``y`` elsewhere."""
    chosen = on_chip(condition, "condition")
    tiles = [on_chip(value, role) for role, value in (("x", x), ("y", y)) if isinstance(value, NkiTensor)]
    for tile in tiles:
        same_extent("where", ("condition", "other"), chosen, tile)
    kinds = [tile.dtype.name for tile in tiles] or [chosen.dtype.name]
    dst = _whole(chosen.shape, dtype if dtype is not None else DTYPES[promote(kinds[0], kinds[-1])])
    sides = [on_chip(value, "x") if isinstance(value, NkiTensor) else values.number(value) for value in (x, y)]
    deliver(isa.elementwise.select("where", chosen, sides[0], sides[1]), dst)
    return dst


# --- reductions ------------------------------------------------------------------------------------------------------


def _fp32(result: isa.Result) -> NkiTensor:
    """A new fp32 tile with ``result``."""
    tile = _whole(result.values.shape, DTYPES["float32"])
    deliver(result, tile)
    return tile


def _reduced_shape(data: NkiTensor, axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    kept = [1 if d in axes else n for d, n in enumerate(data.array.shape) if keepdims or d not in axes]
    return tuple(kept) if len(kept) > 1 else (kept[0], 1)


def _reduction(name: str, operator: str) -> Function:
    def function(x: Any, axis: Any, dtype: Any = None, keepdims: Any = False) -> NkiTensor:
        source = on_chip(x, "x")
        axes = reduced_axes(source, axis)
        dst = _whole(_reduced_shape(source, axes, bool(keepdims)), source.dtype if dtype is None else dtype)
        deliver(isa.tensor_reduce(operator, source, axes, keepdims=bool(keepdims)), dst)
        return dst

    return _named(name, function)


def all_(x: Any, axis: Any, dtype: Any = None) -> NkiTensor:
    """1 where no element is 0."""
    source = on_chip(x, "x")
    axes = reduced_axes(source, axis)
    dst = _whole(_reduced_shape(source, axes, False), source.dtype if dtype is None else dtype)
    deliver(isa.tensor_reduce("logical_and", source, axes), dst)
    return dst


def mean(x: Any, axis: Any, dtype: Any = None, keepdims: Any = False) -> NkiTensor:
    """The mean, in fp32 until it is stored."""
    source = on_chip(x, "x")
    axes = reduced_axes(source, axis)
    total = _fp32(isa.tensor_reduce("add", source, axes, keepdims=bool(keepdims)))
    dst = _whole(total.shape, source.dtype if dtype is None else dtype)
    deliver(isa.tensor_scalar(total, "multiply", 1.0 / _count(source, axes)), dst)
    return dst


def var(x: Any, axis: Any, dtype: Any = None, keepdims: Any = False) -> NkiTensor:
    """The variance over all free dimensions; the reduced dimensions stay, whatever ``keepdims`` says."""
    source = on_chip(x, "x")
    axes = reduced_axes(source, axis)
    if len(axes) != source.array.ndim - 1:
        raise NotModelled("nki.language.var over a part of the free dimensions")
    scale = 1.0 / _count(source, axes)
    total = _fp32(isa.tensor_reduce("add", source, axes))
    average = _fp32(isa.tensor_scalar(total, "multiply", scale))
    squares = _fp32(isa.activation("square", _fp32(isa.tensor_scalar(source, "subtract", average)))[0])
    dst = _whole(_reduced_shape(source, axes, True), source.dtype if dtype is None else dtype)
    deliver(isa.tensor_scalar(_fp32(isa.tensor_reduce("add", squares, axes)), "multiply", scale), dst)
    return dst


def _count(data: NkiTensor, axes: tuple[int, ...]) -> int:
    return prod(data.array.shape[axis] for axis in axes)


def softmax(x: Any, axis: Any = -1, dtype: Any = None) -> NkiTensor:
    """``exp(x - max) / sum`` over all free dimensions, in fp32 until it is stored."""
    source = on_chip(x, "x")
    axes = reduced_axes(source, axis)
    if len(axes) != source.array.ndim - 1:
        raise NotModelled("nki.language.softmax over a part of the free dimensions")
    highest = _fp32(isa.tensor_reduce("maximum", source, axes))
    powers = _fp32(isa.activation("exp", _fp32(isa.tensor_scalar(source, "subtract", highest)))[0])
    scale = _fp32(isa.reciprocal(_fp32(isa.tensor_reduce("add", powers, axes))))
    dst = _whole(source.shape, source.dtype if dtype is None else dtype)
    deliver(isa.tensor_scalar(powers, "multiply", scale), dst)
    return dst


def rms_norm(
    x: Any, w: Any, axis: Any, n: Any, epsilon: Any = 1e-06, dtype: Any = None, compute_dtype: Any = None
) -> NkiTensor:
    """``x / sqrt(sum(x * x) / n + epsilon) * w``, in fp32 until it is stored."""
    source, weight = on_chip(x, "x"), on_chip(w, "w")
    axes = reduced_axes(source, axis)
    if compute_dtype is not None and values.data_type(compute_dtype) != DTYPES["float32"]:
        raise NotModelled("nki.language.rms_norm with a compute_dtype other than float32")
    if len(axes) != source.array.ndim - 1:
        raise NotModelled("nki.language.rms_norm over a part of the free dimensions")
    same_extent("rms_norm", ("x", "w"), source, weight)
    total = _fp32(isa.tensor_reduce("add", _fp32(isa.activation("square", source)[0]), axes))
    mean_ = isa.tensor_scalar(total, "multiply", 1.0 / values.integer(n), False, "add", values.number(epsilon))
    scale = _fp32(isa.activation("rsqrt", _fp32(mean_))[0])
    dst = _whole(source.shape, source.dtype if dtype is None else dtype)
    deliver(isa.tensor_tensor(_fp32(isa.tensor_scalar(source, "multiply", scale)), weight, "multiply"), dst)
    return dst


# --- movement --------------------------------------------------------------------------------------------------------


def load(src: Any, dtype: Any = None) -> NkiTensor:
    """A tensor of HBM in SBUF."""
    if not isinstance(src, NkiTensor):
        raise KernelError("", f"expecting tensor access, got '{values.kind(src)}'")
    make = _whole if type(src) is NkiTensor else _new
    dst = make(src.shape, src.dtype if dtype is None else dtype)
    isa_memory.dma_copy(dst=dst, src=src)
    return dst


def store(dst: Any, value: Any) -> None:
    """Write a tile to HBM; one of PSUM is copied to SBUF by hand before."""
    isa_memory.dma_copy(dst=dst, src=value)


def load_transpose2d(src: Any, dtype: Any = None) -> NkiTensor:
    """A matrix of HBM in SBUF, transposed."""
    if not isinstance(src, NkiTensor) or len(src.shape) != 2:
        raise KernelError("", "load_transpose2d: src must be a tensor of two dimensions")
    moved = _new(src.shape[::-1], src.dtype)
    isa_memory.dma_transpose(dst=moved, src=src)
    return moved if dtype is None else _unary("copy")(x=moved, dtype=dtype)


def transpose(x: Any, dtype: Any = None) -> NkiTensor:
    """``x`` with partitions and free dimension swapped, in PSUM."""
    source = on_chip(x, "x")
    if len(source.shape) != 2:
        raise KernelError("", f"transpose: x must have two dimensions, not {source.shape}")
    if dtype is not None and values.data_type(dtype) != source.dtype:
        raise NotModelled("nki.language.transpose to another type")
    dst = _new(source.shape[::-1], source.dtype, BUFFERS["psum"])
    nc_transpose(dst=dst, data=source)
    return dst


def matmul(x: Any, y: Any, transpose_x: Any = False) -> NkiTensor:
    """``x.T @ y`` in PSUM. Without ``transpose_x`` the hardware from gen3 on cannot do it: the transposed operand is
    left in PSUM, where the Tensor Engine does not read."""
    left, right = on_chip(x, "x"), on_chip(y, "y")
    if not transpose_x:
        if session.current().machine.target.version >= 3:
            raise KernelError(
                "",
                "matmul: without transpose_x=True the transposed x is left in PSUM, which the Tensor Engine cannot "
                "read: transpose x with nki.isa.nc_transpose, copy it to SBUF and pass transpose_x=True",
            )
        turned = transpose(x=left)
        left = _whole(turned.shape, turned.dtype)
        deliver(_copied(turned), left)
    dst = _new((prod(left.shape[1:]), prod(right.shape[1:])), DTYPES["float32"], BUFFERS["psum"])
    nc_matmul(dst=dst, stationary=left, moving=right)
    return dst


def broadcast_to(x: Any, shape: Any, dtype: Any = None) -> NkiTensor:
    """``x`` repeated along its dimensions of size 1; itself when nothing changes."""
    source, wanted = on_chip(x, "x"), values.shape_of(shape)
    kind = source.dtype if dtype is None else values.data_type(dtype)
    if source.shape == wanted and kind == source.dtype:
        return x if isinstance(x, NkiTensor) else source
    pairs = list(zip(source.shape, wanted, strict=False))
    if len(source.shape) != len(wanted) or any(have not in (1, want) for have, want in pairs):
        raise KernelError("", f"broadcast_to: a tile of shape {source.shape} has no broadcast to {wanted}")
    dst = _whole(wanted, kind)
    result = isa.copy("tensor_copy", source)
    result.values = np.broadcast_to(result.values.reshape(source.shape), wanted)
    deliver(result, dst)
    return dst


def expand_dims(x: Any, axis: Any) -> NkiTensor:
    """A view with one more dimension of size 1, not before the partitions."""
    source = on_chip(x, "x")
    rank = len(source.shape) + 1
    at = values.integer(axis) % rank
    if at == 0:
        raise KernelError("", "expand_dims: the first dimension is the partition dimension")
    view: NkiTensor = source.reshape((*source.shape[:at], 1, *source.shape[at:]))
    return view


def gather_flattened(data: Any, indices: Any, axis: Any = 0, dtype: Any = None) -> NkiTensor:
    """For each partition the elements of ``data`` that ``indices`` names."""
    if values.integer(axis) != 0:
        raise NotModelled("nki.language.gather_flattened with an axis")
    source, positions = on_chip(data, "data"), on_chip(indices, "indices")
    dst = _new(positions.shape, source.dtype if dtype is None else dtype)
    isa_search.nc_n_gather(dst=dst, data=source, indices=positions)
    return dst


# --- creation --------------------------------------------------------------------------------------------------------


def full(shape: Any, fill_value: Any, dtype: Any, buffer: Any = _SBUF, name: Any = "") -> NkiTensor:
    """A new tensor filled with ``fill_value``."""
    tensor = language.ndarray(shape=shape, dtype=dtype, buffer=buffer, name=name)
    kind, number = values.data_type(dtype), values.number(fill_value)
    if tensor.alloc.space == "hbm":
        tensor.array[...] = np.asarray(number).astype(kind)
        untracked(tensor)
    else:
        deliver(isa.memset(tensor.array.shape, int(number) if is_integer(kind) else number, kind), tensor)
    return tensor


def ones(shape: Any, dtype: Any, buffer: Any = _SBUF, name: Any = "") -> NkiTensor:
    """A new tensor filled with ones."""
    return full_(shape=shape, fill_value=1, dtype=dtype, buffer=buffer, name=name)


def zeros_like(x: Any, dtype: Any = None, buffer: Any = None, name: Any = "") -> NkiTensor:
    """A new tensor of zeros with the shape of ``x``, in SBUF unless ``buffer`` says otherwise."""
    place = _SBUF if buffer is None else buffer
    return full_(shape=x.shape, fill_value=0, dtype=x.dtype if dtype is None else dtype, buffer=place, name=name)


def empty_like(x: Any, dtype: Any = None, buffer: Any = None, name: Any = "") -> NkiTensor:
    """A new tensor with the shape of ``x``, in its buffer, not initialised."""
    place = x.buffer if buffer is None else buffer
    kind = x.dtype if dtype is None else dtype
    tensor: NkiTensor = language.ndarray(shape=x.shape, dtype=kind, buffer=place, name=name)
    return tensor


def rand(shape: Any, dtype: Any, buffer: Any = _SBUF, name: Any = "") -> NkiTensor:
    """Random numbers of [0, 1)."""
    tensor: NkiTensor = language.ndarray(shape=shape, dtype=dtype, buffer=buffer, name=name)
    uniform = state.current().random.random(tensor.array.shape, np.float32)
    deliver(isa.result_of("rand", uniform, ()), on_chip(tensor, "tensor"))
    return tensor


def random_seed(seed: Any) -> None:
    """Start the random numbers again from the one element of ``seed``."""
    isa_search.set_rng_seed(src_seeds=seed)


def dropout(x: Any, rate: Any, dtype: Any = None) -> NkiTensor:
    """``x`` with elements replaced by 0 with probability ``rate``."""
    source = on_chip(x, "x")
    dst = _new(source.shape, source.dtype if dtype is None else dtype)
    isa_search.dropout(dst=dst, data=source, prob=rate)
    return dst


_buffer = buffer


def _place(name: str, spaces: tuple[str, ...]) -> Function:
    def function(buffer: Any) -> bool:
        return _buffer(buffer).space in spaces

    return _named(name, function)


full_ = builtin("nki.language")(full)

_BINARY = (
    "add bitwise_and bitwise_or bitwise_xor divide equal fmod greater greater_equal left_shift less less_equal "
    "logical_and logical_or logical_xor maximum minimum mod multiply not_equal power right_shift subtract"
).split()
_UNARY = (
    "abs arctan ceil copy cos erf erf_dx exp floor gelu gelu_apprx_sigmoid gelu_apprx_sigmoid_dx gelu_apprx_tanh "
    "gelu_dx invert log logical_not mish negative reciprocal relu rsqrt sigmoid sign silu silu_dx sin softplus sqrt "
    "square tan tanh trunc"
).split()
_REDUCTIONS = {"sum": "add", "max": "maximum", "min": "minimum", "prod": "multiply"}
_PLACES = {"is_hbm": ("hbm",), "is_sbuf": ("sbuf",), "is_psum": ("psum",), "is_on_chip": ("sbuf", "psum")}

FUNCTIONS: dict[str, Function] = {
    **{name: _binary(name) for name in _BINARY},
    **{name: _unary(name) for name in _UNARY},
    **{name: _reduction(name, operator) for name, operator in _REDUCTIONS.items()},
    **{name: _place(name, spaces) for name, spaces in _PLACES.items()},
    **{
        function.__name__: builtin("nki.language")(function)
        for function in (
            *(where, mean, var, softmax, rms_norm, load, store, load_transpose2d, transpose, matmul, broadcast_to),
            *(expand_dims, gather_flattened, ones, zeros_like, empty_like, rand, random_seed, dropout),
        )
    },
    "all": _named("all", all_),
    "full": full_,
}
"""Functions of ``nki.language`` that 0.3 has and 0.2 has not, or has as tokens only."""
values.CALLED.update(FUNCTIONS)
