"""``nki.isa`` and ``nki.collectives`` of Beta 2 (SDK 2.28), and what NKI 0.3 (SDK 2.29) changed.

Source: the API stubs of the SDK documentation at v2.28.0 and v2.29.0 for what is documented; the front end of
leanprover/KLR at 7ccd18c for the order of positional arguments and for what it takes beyond the documentation.
``mask`` stands between the documented parameters of most instructions, so positional arguments after the required
ones do not line up with the documentation: write keywords.
"""

from __future__ import annotations

from .beta2_symbols import Symbol, enum, function

ISA = "nki.isa."
COLLECTIVES = "nki.collectives."

ENUM_MEMBERS: dict[str, dict[str, int | str]] = {
    "dge_mode": {"unknown": 0, "swdge": 1, "hwdge": 2, "none": 3},
    "engine": {"unknown": 0, "tensor": 1, "scalar": 2, "gpsimd": 3, "dma": 4, "vector": 5, "sync": 6},
    "nc_version": {"gen2": 2, "gen3": 3, "gen4": 4},
    "oob_mode": {"error": 0, "skip": 1},
    "reduce_cmd": {"idle": 0, "reset": 1, "reduce": 2, "reset_reduce": 3, "load_reduce": 4},
    "matmul_perf_mode": {"none": "none", "double_row": "double_row"},
}
"""Enumerations of Beta 2 with their values. ``dge_mode`` is numbered otherwise in Beta 1."""

ENGINE_ALIASES = {
    "tensor_engine": "tensor",
    "vector_engine": "vector",
    "scalar_engine": "scalar",
    "gpsimd_engine": "gpsimd",
    "dma_engine": "dma",
    "unknown_engine": "unknown",
}
"""``nki.isa.<key>`` is ``nki.isa.engine.<value>``."""

_DOCUMENTED = {
    "activation": "dst, op, data, bias=None, scale=1.0, reduce_op=None, reduce_res=None, reduce_cmd=reduce_cmd.idle, "
    "!mask, name=None",
    "activation_reduce": "dst, op, data, reduce_op~None, reduce_res~None, bias=None, scale=1.0, !mask, name=None",
    "affine_select": "dst, pattern, offset~0, channel_multiplier~0, on_true_tile, on_false_value, cmp_op=nl.equal, "
    "!mask, "
    "name=None",
    "bn_aggr": "dst, data, !mask, name=None",
    "bn_stats": "dst, data, !mask, name=None",
    "core_barrier": "data, cores, engine=engine.unknown, name=None",
    "dma_compute": "dst, srcs, scales, reduce_op, name=None",
    "dma_copy": "dst, src, !mask, dst_rmw_op=None, oob_mode=oob_mode.error, dge_mode=dge_mode.unknown, "
    "unique_indices=True, "
    "+engine=engine.unknown, +priority=None, name=None",
    "dma_transpose": "dst, src, axes=None, !mask, dge_mode=dge_mode.unknown, oob_mode=oob_mode.error, "
    "+priority=None, name=None",
    "dropout": "dst, data, prob, !mask, name=None",
    "exponential": "dst, src, max_value=0.0, reduce_res=None, reduce_cmd=reduce_cmd.idle, reduce_init=0.0, !mask, "
    "+name=None",
    "get_nc_version": "",
    "iota": "dst, pattern, offset~0, channel_multiplier=0, name=None",
    "local_gather": "dst, src_buffer, index, num_elem_per_idx=1, num_valid_indices=None, !mask, name=None",
    "max8": "dst, src, !mask, name=None",
    "memset": "dst, value, !mask, engine=engine.unknown, name=None",
    "nc_find_index8": "dst, data, vals, !mask, name=None",
    "nc_match_replace8": "dst, data, vals, imm, dst_idx=None, !mask, name=None",
    "nc_matmul": "dst, stationary, moving, is_stationary_onezero=False, is_moving_onezero=False, is_transpose=False, "
    "tile_position=(), tile_size=(), perf_mode=matmul_perf_mode.none, !mask, name=None",
    "nc_matmul_mx": "dst, stationary, moving, stationary_scale, moving_scale, tile_position=None, tile_size=None, "
    "name=None",
    "nc_n_gather": "dst, data, indices, !mask, +dtype=None, name=None",
    "nc_stream_shuffle": "dst, src, shuffle_mask, !mask, name=None",
    "nc_transpose": "dst, data, !mask, engine=engine.unknown, name=None",
    "nonzero_with_count": "dst, src, index_offset=0, padding_val=-1, !mask, +name=None",
    "quantize_mx": "dst, src, dst_scale, name=None",
    "rand2": "dst, min, max, name=None",
    "rand_get_state": "dst, engine=engine.unknown, name=None",
    "rand_set_state": "src_seeds, engine=engine.unknown, name=None",
    "range_select": "dst, on_true_tile, comp_op0, comp_op1, bound0, bound1, reduce_cmd=reduce_cmd.reset_reduce, "
    "reduce_res=None, reduce_op=nl.maximum, range_start=0.0, on_false_value=-3.4028235e+38, !mask, name=None",
    "reciprocal": "dst, data, !mask, name=None",
    "register_alloc": "t=None",
    "register_load": "dst, src",
    "register_move": "dst, imm",
    "register_store": "dst, src",
    "rng": "dst, engine=engine.unknown, name=None",
    "scalar_tensor_tensor": "dst, data, op0, operand0, op1, operand1, reverse0=False, reverse1=False, !mask, "
    "name=None",
    "select_reduce": "dst, predicate, on_true, on_false, reduce_res=None, reduce_cmd=reduce_cmd.idle, "
    "reduce_op=nl.maximum, "
    "reverse_pred=False, !mask, name=None",
    "sendrecv": "src, dst, send_to_rank, recv_from_rank, pipe_id, !mask, +use_gpsimd_dma=False, name=None",
    "sequence_bounds": "dst, segment_ids, +dtype=None, name=None",
    "set_rng_seed": "src_seeds, name=None",
    "tensor_copy": "dst, src, !mask, +dtype=None, engine=engine.unknown, name=None",
    "tensor_copy_predicated": "dst, src, predicate, !mask, reverse_pred=False, name=None",
    "tensor_partition_reduce": "dst, op, data, !mask, name=None",
    "tensor_reduce": "dst, op, data, axis, !mask, negate=False, keepdims=False, name=None",
    "tensor_scalar": "dst, data, op0, operand0, reverse0=False, op1=None, operand1=None, reverse1=False, !mask, "
    "engine=engine.unknown, name=None",
    "tensor_scalar_cumulative": "dst, src, op0, op1, imm0, imm1=None, reduce_cmd=reduce_cmd.reset_reduce, !mask, "
    "+name=None",
    "tensor_scalar_reduce": "dst, data, op0, operand0, reduce_op, reduce_res, reverse0=False, "
    "+reduce_cmd=reduce_cmd.reset_reduce, +reduce_init=None, !mask, name=None",
    "tensor_tensor": "dst, data1, data2, op, !mask, engine=engine.unknown, name=None",
    "tensor_tensor_scan": "dst, data0, data1, initial, op0, op1, reverse0=False, reverse1=False, !mask, name=None",
}
"""Documented instructions, in the notation of :func:`~.beta2_symbols.parameters`."""

_SINCE = {"exponential": "2.28", "nonzero_with_count": "2.28"}

_NOTES = {
    "activation": "bias is a (P, 1) tile, never a number.",
    "dma_transpose": "The front end wants four dimensions on both sides.",
    "range_select": "Beta 2 ignores reduce_cmd and on_false_value: it always resets and reduces, and fills with the "
    "fp32 minimum.",
    "register_alloc": "The documentation calls the parameter x, the front end calls it t: pass it by position.",
    "sendrecv": "The one instruction whose first argument is the source.",
    "tensor_reduce": "axis is 1 for the innermost dimension whatever the rank, or [4], [3, 4], [2, 3, 4], [1, 2, 3, "
    "4].",
}

_UNDOCUMENTED = {
    "activate2": "dst, src, op0, op1, imm0, imm1, op, relu_param=0.0, reduce_op=bypass, reduce_res=None, "
    "reduce_cmd=reduce_cmd.idle, reverse0=False, reverse1=False, !mask, name=None",
    "all_gather": "srcs, dsts, replica_group, concat_dim, priority=None, name=None",
    "all_reduce": "op, srcs, dsts, replica_group, priority=None, name=None",
    "all_to_all": "srcs, dsts, replica_group, concat_dim, priority=None, name=None",
    "collective_permute": "src, dst, source_target_pairs, priority=None, name=None",
    "collective_permute_implicit": "src, dst, replica_group, channel_id, num_channels=1, priority=None, name=None",
    "collective_permute_implicit_current_processing_rank_id": "iteration_id, channel_id, num_channels, "
    "replica_group, name=None",
    "collective_permute_implicit_reduce": "op, src0, src1, dst, replica_group, channel_id, num_channels=1, "
    "priority=None, "
    "name=None",
    "extended_inst": "opcode, hasWrite, hasRead, ports, data0, data1, name=None",
    "lnc_barrier": "data, cores, engine=engine.unknown, name=None",
    "rank_id": "name=None",
    "recv": "op, dsts, replica_groups, peer_id, name=None",
    "reduce_scatter": "op, srcs, dsts, replica_group, concat_dim, priority=None, name=None",
    "send": "op, srcs, peerId, name=None",
    "sendrecv_compute": "srcs, dsts, send_to_ranks, recv_from_ranks, pipe_id, op, name=None",
    "tensor_copy_dynamic_dst": "dst, src, !mask, engine=engine.unknown, name=None",
    "tensor_copy_dynamic_src": "dst, src, !mask, engine=engine.unknown, name=None",
}
"""Instructions that the front end has and the documentation of 2.28 does not."""

_COLLECTIVES = {
    "all_gather": "srcs, dsts, replica_group, collective_dim",
    "all_reduce": "srcs, dsts, replica_group, op",
    "all_to_all": "srcs, dsts, replica_group, collective_dim",
    "collective_permute": "srcs, dsts, source_target_pairs",
    "collective_permute_implicit": "srcs_by_channel, dsts_by_channel, replica_group, channel_ids=[0]",
    "collective_permute_implicit_current_processing_rank_id": "iteration_id, replica_group, channel_id=0, "
    "num_channels=1",
    "collective_permute_implicit_reduce": "srcs0_by_channel, srcs1_by_channel, dsts_by_channel, replica_group, op, "
    "channel_ids=[0]",
    "rank_id": "",
    "reduce_scatter": "srcs, dsts, replica_group, collective_dim, op",
}


def _enums() -> dict[str, Symbol]:
    table: dict[str, Symbol] = {}
    for name, members in ENUM_MEMBERS.items():
        table.update(enum(ISA + name, members))
    table[ISA + "matmul_perf_mode.double_row_sw_interleave"] = Symbol(
        "member", value="double_row_sw_interleave", documented=False
    )
    for alias, member in ENGINE_ALIASES.items():
        table[ISA + alias] = Symbol("member", value=ENUM_MEMBERS["engine"][member])
    return table


SYMBOLS: dict[str, Symbol] = {
    **{
        ISA + name: function(signature, since=_SINCE.get(name, "2.27"), note=_NOTES.get(name, ""))
        for name, signature in _DOCUMENTED.items()
    },
    **{ISA + name: function(signature, documented=False) for name, signature in _UNDOCUMENTED.items()},
    **{COLLECTIVES + name: function(signature, since="2.28") for name, signature in _COLLECTIVES.items()},
    COLLECTIVES + "ReplicaGroup": Symbol("class", since="2.28", keywords=True),
    **_enums(),
}
"""NKI 0.2."""

_DEPRECATED_03 = {"tensor_copy_dynamic_dst", "tensor_copy_dynamic_src"}
REMOVED_03: frozenset[str] = frozenset(ISA + name for name in _UNDOCUMENTED.keys() - _DEPRECATED_03) | {
    ISA + "dma_engine"
}
"""Names of 0.2 that 0.3 does not have (``dma_engine`` comes back as an enumeration)."""

CHANGED_03: dict[str, Symbol] = {
    ISA + name: function(signature, since="2.29", documented=name not in _DEPRECATED_03)
    for name, signature in {
        "activation": "dst, op, data, bias=None, scale=1.0, reduce_op=None, reduce_res=None, "
        "reduce_cmd=reduce_cmd.idle, name=None",
        "activation_reduce": "dst, op, data, reduce_op, reduce_res, bias=None, scale=1.0, name=None",
        "affine_select": "dst, pattern, channel_multiplier, on_true_tile, on_false_value, cmp_op=nl.equal, "
        "offset=0, name=None",
        "core_barrier": "data, cores, engine=engine.gpsimd, name=None",
        "dma_compute": "dst, srcs, reduce_op, scales=None, unique_indices=True, name=None",
        "dma_copy": "dst, src, oob_mode=oob_mode.error, dge_mode=dge_mode.unknown, engine=engine.unknown, name=None",
        "dma_transpose": "dst, src, axes=None, dge_mode=dge_mode.unknown, oob_mode=oob_mode.error, name=None",
        "exponential": "dst, src, max_value=0.0, reduce_res=None, reduce_cmd=reduce_cmd.idle, reduce_init=0.0, "
        "name=None",
        "iota": "dst, pattern, offset=0, channel_multiplier=0, name=None",
        "nc_matmul": "dst, stationary, moving, is_stationary_onezero=False, is_moving_onezero=False, "
        "is_transpose=False, "
        "accumulate=None, tile_position=(), tile_size=(), perf_mode=matmul_perf_mode.none, name=None",
        "nc_matmul_mx": "dst, stationary, moving, stationary_scale, moving_scale, tile_position=None, "
        "tile_size=None, "
        "accumulate=None, name=None",
        "nc_n_gather": "dst, data, indices, name=None",
        "nonzero_with_count": "dst, src, index_offset=0, padding_val=-1, name=None",
        "range_select": "dst, on_true_tile, comp_op0, comp_op1, bound0, bound1, reduce_cmd=reduce_cmd.reset_reduce, "
        "reduce_res=None, reduce_op=nl.maximum, range_start=0, on_false_value=-3.4028235e+38, name=None",
        "register_alloc": "x=None",
        "register_move": "dst, src",
        "sendrecv": "src, dst, send_to_rank, recv_from_rank, pipe_id, dma_engine=dma_engine.dma, name=None",
        "sequence_bounds": "dst, segment_ids, name=None",
        "tensor_copy": "dst, src, engine=engine.unknown, name=None",
        "tensor_copy_dynamic_dst": "dst, src, engine=engine.unknown, name=None",
        "tensor_copy_dynamic_src": "dst, src, engine=engine.unknown, name=None",
        "tensor_scalar_cumulative": "dst, src, op0, op1, imm0, imm1=None, reduce_cmd=reduce_cmd.reset_reduce, "
        "name=None",
        "tensor_scalar_reduce": "dst, data, op0, operand0, reduce_op, reduce_res, reverse0=False, name=None",
    }.items()
}
CHANGED_03.update(enum(ISA + "dma_engine", {"dma": 1, "gpsimd_dma": 2}))
CHANGED_03[ISA + "NkiValidationError"] = Symbol("class", since="2.29")
CHANGED_03[ISA + "VirtualRegister"] = Symbol("class", since="2.29")
CHANGED_03[COLLECTIVES + "all_to_all_v"] = function(
    "srcs, dsts, replica_group, metadata_tensor, recv_counts_known=False, has_rdispls=False", since="2.29"
)
CHANGED_03[COLLECTIVES + "collective_permute_implicit_current_processing_rank_id"] = function(
    "iteration_id, replica_group, channel_id=0", since="2.29"
)
