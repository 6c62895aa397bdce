"""``nki.isa``: the Tensor Engine (2.28 signatures)."""

from __future__ import annotations

from typing import Any

from .. import isa
from ..errors import KernelError, NotModelled
from . import values
from .operands import deliver, in_sbuf, on_chip, tile
from .signature import builtin
from .tensor import NkiTensor

PerfMode = values.MatmulPerfMode
_WIDE = ("float32",)


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
    target = tile(dst)
    if target.alloc.space != "psum":
        raise KernelError("", f"nc_matmul: dst must be in PSUM, '{target.label}' is in {target.alloc.space.upper()}")
    left, right = in_sbuf(stationary, "stationary", "nc_matmul"), in_sbuf(moving, "moving", "nc_matmul")
    message = "expecting matmul performance mode (none, double_row, double_row_sw_interleave)"
    if values.member(PerfMode, perf_mode, message) is not PerfMode.none:
        raise NotModelled("nc_matmul with a performance mode")
    if not is_transpose:
        _check_types(left, right)
    position, size = values.naturals(tile_position), values.naturals(tile_size)
    if bool(position) != bool(size):
        raise KernelError("", "nc_matmul: tile_position and tile_size are given together or not at all")
    result = isa.matmul(left, right, is_transpose=bool(is_transpose))
    deliver(result, target, accumulate=None if accumulate is None else bool(accumulate))


def _check_types(left: NkiTensor, right: NkiTensor) -> None:
    for role, tensor in (("stationary", left), ("moving", right)):
        if tensor.dtype.kind in "iub":
            raise KernelError("", f"nc_matmul: {role} must be a floating point tensor, not {tensor.dtype.name}")
    if (left.dtype.name in _WIDE) != (right.dtype.name in _WIDE):
        raise KernelError(
            "",
            f"nc_matmul: stationary is {left.dtype.name}, moving is {right.dtype.name}: if one is float32, the "
            "other must be",
        )


@builtin("nki.isa")
def nc_transpose(dst: Any, data: Any, engine: Any = values.Engine.unknown, name: Any = None) -> None:
    """``dst[f, p] = data[p, f]``, bits kept; free dimensions are flattened."""
    target, source = on_chip(dst, "dst"), on_chip(data, "data")
    chosen = values.engine(engine)
    if target.dtype != source.dtype:
        raise KernelError(
            "", f"nc_transpose: dst is {target.dtype.name}, data is {source.dtype.name}: they must be the same type"
        )
    partitions, elements = source.array.shape[0], source.array.size // max(source.array.shape[0], 1)
    if chosen is values.Engine.vector and max(partitions, elements) > 32:
        raise KernelError("", f"nc_transpose: the Vector Engine takes up to 32 x 32, data is {partitions} x {elements}")
    if chosen is values.Engine.tensor and target.alloc.space != "psum":
        raise KernelError("", "nc_transpose: the Tensor Engine writes to PSUM")
    deliver(isa.transpose(source), target)
