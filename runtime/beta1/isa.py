"""``neuronxcc.nki.isa``: the names that kernels know as ``nisa``."""

from __future__ import annotations

from functools import update_wrapper
from inspect import signature
from typing import Any

from ..host import host_target
from ..options import exempt_said
from ..session import current, in_kernel
from ..spec.comparison import exempt
from . import arithmetic, composites, creation, matmul, movement, reductions, special, vector
from .pending import call_of
from .tensor import Tile
from .tokens import FP32, DgeMode, Engine, NcVersion, OobMode, ReduceCmd


def get_nc_version() -> NcVersion:
    """The NeuronCore generation that the kernel runs on."""
    target = current().machine.target if in_kernel() else host_target({})
    return NcVersion(target.version)


def reciprocal(data: Any, *, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    """``1 / data``, element by element."""
    return arithmetic.reciprocal(call_of("reciprocal", mask), data, dtype)


def _telling(function: Any, name: str) -> Any:
    """The instruction ``name``, whose events have what it was told that is not compared; itself if that is nothing."""
    order = list(signature(function).parameters)
    names = exempt(name, "")
    if not names & set(order):
        return function

    def call(*args: Any, **given: Any) -> Any:
        recorder = current().machine.recorder if in_kernel() else None
        if recorder is None:
            return function(*args, **given)
        since = recorder.begun
        result = function(*args, **given)
        bound = {**dict(zip(order, args, strict=False)), **given}
        recorder.says(since, exempt_said(name, bound, ""))
        return result

    return update_wrapper(call, function)


CONSTANTS: dict[str, Any] = {
    "dge_mode": DgeMode,
    "engine": Engine,
    "nc_version": NcVersion,
    "oob_mode": OobMode,
    "reduce_cmd": ReduceCmd,
}

_INSTRUCTIONS: dict[str, Any] = {
    "activation": vector.activation,
    "activation_reduce": vector.activation_reduce,
    "affine_select": vector.affine_select,
    "bn_aggr": special.bn_aggr,
    "bn_stats": special.bn_stats,
    "builtin_custom_op": special.builtin_custom_op,
    "dma_copy": movement.dma_copy,
    "dma_transpose": movement.dma_transpose,
    "dropout": special.dropout,
    "iota": vector.iota,
    "local_gather": special.local_gather,
    "max8": special.max8,
    "memset": creation.memset,
    "nc_find_index8": special.nc_find_index8,
    "nc_match_replace8": special.nc_match_replace8,
    "nc_n_gather": special.gather_flattened,  # undocumented; the later name of gather_flattened
    "nc_matmul": matmul.nc_matmul,
    "nc_stream_shuffle": movement.nc_stream_shuffle,
    "nc_transpose": composites.nc_transpose,
    "range_select": special.range_select,
    "reciprocal": reciprocal,
    "scalar_tensor_tensor": vector.scalar_tensor_tensor,
    "select_reduce": special.select_reduce,
    "sequence_bounds": special.sequence_bounds,
    "tensor_copy": movement.tensor_copy,
    "tensor_copy_dynamic_dst": special.tensor_copy_dynamic_dst,
    "tensor_copy_dynamic_src": special.tensor_copy_dynamic_src,
    "tensor_copy_predicated": movement.tensor_copy_predicated,
    "tensor_partition_reduce": reductions.tensor_partition_reduce,
    "tensor_reduce": reductions.tensor_reduce,
    "tensor_scalar": vector.tensor_scalar,
    "tensor_scalar_reduce": vector.tensor_scalar_reduce,
    "tensor_tensor": vector.tensor_tensor,
    "tensor_tensor_scan": vector.tensor_tensor_scan,
}

MEMBERS: dict[str, Any] = {
    **CONSTANTS,
    "dma_engine": Engine.dma,
    "gpsimd_engine": Engine.gpsimd,
    "scalar_engine": Engine.scalar,
    "tensor_engine": Engine.tensor,
    "unknown_engine": Engine.unknown,
    "vector_engine": Engine.vector,
    "fp32": FP32,
    "get_nc_version": get_nc_version,
    **{name: _telling(function, name) for name, function in _INSTRUCTIONS.items()},
}
