"""``nki.isa``: microscaling formats, NeuronCore-v4 (2.28 signatures)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import KernelError
from ..isa import mx
from ..packed import is_packed, type_name
from . import state
from .isa_matmul import tiling
from .isa_select import needs_core
from .operands import deliver, in_sbuf, tile
from .signature import builtin
from .tensor import NkiTensor


@builtin("nki.isa")
def quantize_mx(dst: Any, src: Any, dst_scale: Any, name: Any = None) -> None:
    """Quantize (P, 4F) of fp16 or bf16 to packed fp8 (P, F), and a scale for each 8 partitions by 4 elements.

    The scales of 32 partitions are 4 rows at the start of each quadrant of ``dst_scale``; its other rows keep their
    values.
    """
    needs_core("quantize_mx", 4)
    target, source = in_sbuf(dst, "dst", "quantize_mx"), in_sbuf(src, "src", "quantize_mx")
    scales = in_sbuf(dst_scale, "dst_scale", "quantize_mx")
    if type_name(target.dtype) not in ("float8_e5m2_x4", "float8_e4m3fn_x4"):
        raise KernelError(
            "", f"quantize_mx: dst must be float8_e5m2_x4 or float8_e4m3fn_x4, not {type_name(target.dtype)}"
        )
    if source.dtype.name not in ("float16", "bfloat16"):
        raise KernelError("", f"quantize_mx: src must be float16 or bfloat16, not {type_name(source.dtype)}")
    _check_scales("quantize_mx", "dst_scale", scales)
    _check_partitions("quantize_mx", "src", source)
    partitions, elements = source.array.shape[0], source.array.size // source.array.shape[0]
    if elements % 4:
        raise KernelError("", f"quantize_mx: src must have a multiple of 4 elements a partition, not {elements}")
    result, found = mx.quantize(source, target.dtype, state.rules().doubled_scale)
    bits = scales.array.view(np.uint8)
    rows = bits.reshape(bits.shape[0], -1)
    if rows.shape[0] < mx.scale_partitions(partitions) or rows.shape[1] != elements // 4:
        raise KernelError(
            "",
            f"quantize_mx: dst_scale has shape {scales.shape}, it must have {mx.scale_partitions(partitions)} or more "
            f"partitions and {elements // 4} elements in each",
        )
    result.also_writes = (*result.also_writes, ("dst_scale", scales))
    deliver(result, target)
    for row, scale in zip(mx.scale_rows(partitions), found, strict=True):
        bits[row] = scale.reshape(bits.shape[1:])


@builtin("nki.isa")
def nc_matmul_mx(
    dst: Any,
    stationary: Any,
    moving: Any,
    stationary_scale: Any,
    moving_scale: Any,
    tile_position: Any = None,
    tile_size: Any = None,
    accumulate: Any = None,
    name: Any = None,
) -> None:
    """``dst = stationary.T @ moving`` on packed operands with scales, contracting partitions and packed elements."""
    needs_core("nc_matmul_mx", 4)
    target = tile(dst)
    if target.alloc.space != "psum":
        raise KernelError("", f"nc_matmul_mx: dst must be in PSUM, '{target.label}' is in {target.alloc.space.upper()}")
    if target.dtype.name not in ("float32", "bfloat16"):
        raise KernelError("", f"nc_matmul_mx: dst must be float32 or bfloat16, not {type_name(target.dtype)}")
    tiling("nc_matmul_mx", tile_position or (), tile_size or ())
    operands = {}
    for role, value in (("stationary", stationary), ("moving", moving)):
        operands[role] = in_sbuf(value, role, "nc_matmul_mx")
        if not is_packed(operands[role].dtype):
            raise KernelError(
                "", f"nc_matmul_mx: {role} must be of a packed type (..._x4), not {operands[role].dtype.name}"
            )
        _check_partitions("nc_matmul_mx", role, operands[role])
    left, right = operands["stationary"], operands["moving"]
    if left.array.shape[0] != right.array.shape[0]:
        raise KernelError(
            "",
            f"nc_matmul_mx: stationary has {left.array.shape[0]} partitions, moving {right.array.shape[0]}: they must "
            "be equal",
        )
    limits = (("stationary", left, 128), ("moving", right, 1024 if target.dtype.itemsize == 2 else 512))
    for role, operand, limit in limits:
        elements = operand.array.size // operand.array.shape[0]
        if elements > limit or (role == "stationary" and elements % 2):
            wanted = f"even and at most {limit}" if role == "stationary" else f"at most {limit}"
            raise KernelError("", f"nc_matmul_mx: the free size of {role} must be {wanted}, not {elements}")
    scales = [
        in_sbuf(value, role, "nc_matmul_mx")
        for role, value in (("stationary_scale", stationary_scale), ("moving_scale", moving_scale))
    ]
    for role, scale in zip(("stationary_scale", "moving_scale"), scales, strict=True):
        _check_scales("nc_matmul_mx", role, scale)
    result = mx.matmul_mx(left, right, scales[0], scales[1])
    deliver(result, target, accumulate=None if accumulate is None else bool(accumulate))


def _check_scales(instruction: str, role: str, scales: NkiTensor) -> None:
    known = state.rules().scale_types
    if scales.dtype.name not in known:
        raise KernelError("", f"{instruction}: {role} must be {' or '.join(known)}, not {type_name(scales.dtype)}")


def _check_partitions(instruction: str, role: str, tensor: NkiTensor) -> None:
    if tensor.array.shape[0] % mx.QUADRANT or not tensor.array.shape[0]:
        raise KernelError(
            "", f"{instruction}: {role} must have a multiple of 32 partitions, it has {tensor.array.shape[0]}"
        )
