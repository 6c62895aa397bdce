"""``nki.isa``: the Tensor Engine (2.28 signatures)."""

from __future__ import annotations

from typing import Any

from .. import isa, session
from ..errors import KernelError, NotModelled, TypesDiffer
from ..numerics import FLOAT32, is_integer
from ..spec.dtypes import DOUBLE_FP8
from ..spec.hardware import PARTITIONS
from ..spec.instructions import NATIVE_TRANSPOSE, VECTOR_TRANSPOSE
from . import state, values
from .operands import deliver, in_sbuf, on_chip, tile
from .signature import builtin
from .tensor import NkiTensor

PerfMode = values.MatmulPerfMode
_DOUBLE_ROW, _INTERLEAVED = PerfMode.double_row, PerfMode.double_row_sw_interleave
_VECTOR, _TENSOR = values.Engine.vector, values.Engine.tensor
"""Members that are asked for in each instruction: Python 3.11 takes long to find one in its class."""


@builtin("nki.isa")
def nc_matmul(
    dst: Any,
    stationary: Any,
    moving: Any,
    is_stationary_onezero: Any = False,
    is_moving_onezero: Any = False,
    is_transpose: Any = False,
    accumulate: Any = None,
    tile_position: Any = (),
    tile_size: Any = (),
    perf_mode: Any = PerfMode.none,
    name: Any = None,
) -> None:
    """``dst = stationary.T @ moving`` in fp32.

    In PSUM the first matmul into a tile overwrites it and later ones accumulate, unless ``accumulate`` (0.3) says
    which.
    """
    target = dst if type(dst) is NkiTensor else tile(dst)
    if target.alloc.space != "psum":
        raise KernelError("", f"nc_matmul: dst must be in PSUM, '{target.label}' is in {target.alloc.space.upper()}")
    left, right = in_sbuf(stationary, "stationary", "nc_matmul"), in_sbuf(moving, "moving", "nc_matmul")
    mode = values.member(
        PerfMode, perf_mode, "expecting matmul performance mode (none, double_row, double_row_sw_interleave)"
    )
    if mode is _INTERLEAVED:
        raise NotModelled("nc_matmul with perf_mode double_row_sw_interleave, which is not documented")
    is_double_row = mode is _DOUBLE_ROW
    if is_double_row:
        _check_double_row(left, right)
    elif not is_transpose:
        _check_types(left, right)
    rows, columns = tiling("nc_matmul", tile_position, tile_size)
    partitions = left.array.shape[0]
    if not left.array.size:
        raise KernelError("", f"nc_matmul: stationary of shape {left.shape} has no elements")
    if partitions > rows or left.array.size // partitions > columns * (1 + is_double_row):
        raise KernelError("", f"nc_matmul: stationary of shape {left.shape} exceeds tile_size {(rows, columns)}")
    result = isa.matmul(left, right, is_transpose=bool(is_transpose), double_row=is_double_row)
    deliver(result, target, accumulate=None if accumulate is None else bool(accumulate))


def tiling(instruction: str, position: Any, size: Any) -> tuple[int, int]:
    """Rows and columns of the part of the systolic array that ``tile_position`` and ``tile_size`` choose: all, unless
    both are given."""
    if position == () and size == ():
        return PARTITIONS, PARTITIONS
    start, extent = values.naturals(position), values.naturals(size)
    if bool(start) != bool(extent):
        raise KernelError("", f"{instruction}: tile_position and tile_size are given together or not at all")
    if not start:
        return PARTITIONS, PARTITIONS
    if len(start) != 2 or len(extent) != 2:
        raise KernelError("", f"{instruction}: tile_position and tile_size are pairs, not {start} and {extent}")
    for at, length in zip(start, extent, strict=True):
        if length not in (32, 64, PARTITIONS) or at % length or at + length > PARTITIONS:
            raise KernelError(
                "",
                f"{instruction}: tile_size must be 32, 64 or 128 rows and columns, and tile_position a multiple of it "
                f"inside the array, not {extent} at {start}",
            )
    return extent[0], extent[1]


def _check_double_row(left: NkiTensor, right: NkiTensor) -> None:
    if session.current().machine.target.version < 3:
        raise KernelError("", "nc_matmul: perf_mode double_row needs NeuronCore-v3 or later")
    for role, tensor in (("stationary", left), ("moving", right)):
        if tensor.dtype.name not in DOUBLE_FP8:
            wanted = " or ".join(DOUBLE_FP8)
            raise KernelError("", f"nc_matmul: with double_row {role} must be {wanted}, not {tensor.dtype.name}")
        if tensor.array.ndim < 3 or tensor.array.shape[1] != 2:
            raise KernelError(
                "", f"nc_matmul: with double_row {role} must have shape (partitions, 2, ...), not {tensor.shape}"
            )


def _check_types(left: NkiTensor, right: NkiTensor) -> None:
    if left.array.dtype is right.array.dtype is FLOAT32:
        return
    for role, tensor in (("stationary", left), ("moving", right)):
        if is_integer(tensor.dtype):
            raise KernelError("", f"nc_matmul: {role} must be a floating point tensor, not {tensor.dtype.name}")
    if (left.dtype == FLOAT32) != (right.dtype == FLOAT32):
        raise TypesDiffer(
            "",
            f"nc_matmul: stationary is {left.dtype.name}, moving is {right.dtype.name}: if one is float32, the "
            "other must be",
        )


def _ignored(asked: values.Engine, target: NkiTensor) -> values.Engine:
    """The engine of a transpose in a version that ignores it: what is asked for counts where it runs anyway."""
    if asked is (_TENSOR if target.alloc.space == "psum" else _VECTOR):
        return asked
    recorder = session.current().machine.recorder
    if recorder is not None:
        recorder.options = tuple((name, value) for name, value in recorder.options if name != "engine")
    return values.Engine.unknown


@builtin("nki.isa")
def nc_transpose(dst: Any, data: Any, engine: Any = values.Engine.unknown, name: Any = None) -> None:
    """``dst[f, p] = data[p, f]``, bits kept; free dimensions are flattened.

    Before NeuronCore-v3 the Tensor Engine transposes by a matmul, whose result is float32: kernels that ran on it
    transpose 16-bit data into a float32 tile, which holds each of these numbers.
    """
    target, source = on_chip(dst, "dst"), on_chip(data, "data")
    chosen = values.engine(engine) if state.rules().obeys_engine else _ignored(values.engine(engine), target)
    partitions, elements = source.array.shape[0], source.array.size // max(source.array.shape[0], 1)
    small = max(partitions, elements) <= VECTOR_TRANSPOSE
    by_matmul = chosen is not _VECTOR and target.alloc.space == "psum"
    widened = by_matmul and session.current().machine.target.version < NATIVE_TRANSPOSE and target.dtype == FLOAT32
    if target.array.dtype != source.array.dtype and not (widened and source.dtype.name in ("bfloat16", "float16")):
        raise KernelError(
            "", f"nc_transpose: dst is {target.dtype.name}, data is {source.dtype.name}: they must be the same type"
        )
    if chosen is _VECTOR and not small:
        raise KernelError("", f"nc_transpose: the Vector Engine takes up to 32 x 32, data is {partitions} x {elements}")
    if chosen is _TENSOR and target.alloc.space != "psum":
        raise KernelError("", "nc_transpose: the Tensor Engine writes to PSUM")
    result = isa.transpose(source)
    result.engine = values.ENGINE_NAMES[chosen] or ("" if small else "tensor")
    deliver(result, target)
