"""``nki.isa``: the table of its public names."""

from __future__ import annotations

from typing import Any

from .. import session
from ..spec.hardware import DEFAULT_TARGET, TARGETS
from . import (
    isa_compute,
    isa_cores,
    isa_matmul,
    isa_memory,
    isa_mx,
    isa_reduce,
    isa_registers,
    isa_search,
    isa_select,
    values,
)
from .signature import builtin


@builtin("nki.isa")
def get_nc_version() -> values.NcVersion:
    """The version of the NeuronCore that runs the kernel; outside of kernels, of the default target."""
    target = session.current().machine.target if session.in_kernel() else TARGETS[DEFAULT_TARGET]
    return values.NcVersion(target.version)


@builtin("nki.isa")
def get_nc_sub_version() -> int:
    """The revision of the NeuronCore: the first one."""
    return 0


CONSTANTS: dict[str, Any] = {
    "dge_mode": values.DgeMode,
    "engine": values.Engine,
    "nc_version": values.NcVersion,
    "oob_mode": values.OobMode,
    "reduce_cmd": values.ReduceCmd,
    "matmul_perf_mode": values.MatmulPerfMode,
    "unknown_engine": values.Engine.unknown,
    "tensor_engine": values.Engine.tensor,
    "vector_engine": values.Engine.vector,
    "scalar_engine": values.Engine.scalar,
    "gpsimd_engine": values.Engine.gpsimd,
    "dma_engine": values.DmaEngine(),
}

FUNCTIONS = (
    get_nc_sub_version,
    get_nc_version,
    isa_compute.activation,
    isa_compute.activation_reduce,
    isa_compute.affine_select,
    isa_compute.iota,
    isa_compute.memset,
    isa_compute.reciprocal,
    isa_compute.scalar_tensor_tensor,
    isa_compute.tensor_scalar,
    isa_compute.tensor_tensor,
    isa_compute.tensor_tensor_scan,
    isa_cores.core_barrier,
    isa_cores.lnc_barrier,
    isa_cores.sendrecv,
    isa_matmul.nc_matmul,
    isa_matmul.nc_transpose,
    isa_mx.nc_matmul_mx,
    isa_mx.quantize_mx,
    isa_memory.dma_compute,
    isa_memory.dma_copy,
    isa_memory.dma_transpose,
    isa_memory.tensor_copy,
    isa_memory.tensor_copy_dynamic_dst,
    isa_memory.tensor_copy_dynamic_src,
    isa_reduce.tensor_copy_predicated,
    isa_reduce.tensor_partition_reduce,
    isa_reduce.tensor_reduce,
    isa_reduce.tensor_scalar_reduce,
    isa_registers.register_alloc,
    isa_registers.register_load,
    isa_registers.register_move,
    isa_registers.register_store,
    isa_search.bn_aggr,
    isa_search.bn_stats,
    isa_search.dropout,
    isa_search.local_gather,
    isa_search.max8,
    isa_search.nc_find_index8,
    isa_search.nc_match_replace8,
    isa_search.nc_n_gather,
    isa_search.nc_stream_shuffle,
    isa_search.nonzero_with_count,
    isa_search.rand2,
    isa_search.rng,
    isa_search.sequence_bounds,
    isa_search.set_rng_seed,
    isa_select.exponential,
    isa_select.range_select,
    isa_select.select_reduce,
    isa_select.tensor_scalar_cumulative,
    *isa_search.UNMODELLED.values(),
)

MEMBERS: dict[str, Any] = {**CONSTANTS, **{function.__name__: function for function in FUNCTIONS}}
"""What ``nki.isa`` offers."""
