"""``nki`` 0.4, 0.5 and 0.6 (SDK 2.30, 2.31, 2.32) as what each changed in the version before.

Source: the API stubs of the SDK documentation at v2.30.0, v2.31.0 and v2.32.0, the page of ``tile_size`` at the same
tags, and the release notes for the operators of NeuronCore-v4.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .beta2_symbols import Symbol, function
from .versions import V04, V05, V06, Version

_ISA, _NL, _NCC = "nki.isa.", "nki.language.", "nki.collectives."


@dataclass(frozen=True)
class Delta:
    """Names that a version has and the one before has not, or has otherwise, and names that it has no more."""

    changed: dict[str, Symbol] = field(default_factory=dict)
    removed: frozenset[str] = frozenset()


_OPERATOR = frozenset({"operator"})


def _collectives(suffix: str, release: str) -> dict[str, Symbol]:
    """The collectives of 0.3 with ``suffix`` after their parameters."""
    signatures = {
        "all_gather": "srcs, dsts, replica_group, collective_dim",
        "all_reduce": "srcs, dsts, replica_group, op",
        "all_to_all": "srcs, dsts, replica_group, collective_dim",
        "all_to_all_v": "srcs, dsts, replica_group, metadata_tensor, recv_counts_known=False, has_rdispls=False",
        "collective_permute": "srcs, dsts, source_target_pairs",
        "collective_permute_implicit": "srcs_by_channel, dsts_by_channel, replica_group, channel_ids=[0]",
        "collective_permute_implicit_reduce": "srcs0_by_channel, srcs1_by_channel, dsts_by_channel, replica_group, "
        "op, channel_ids=[0]",
        "reduce_scatter": "srcs, dsts, replica_group, collective_dim, op",
    }
    return {_NCC + name: function(signature + suffix, since=release) for name, signature in signatures.items()}


DELTAS: dict[Version, Delta] = {
    V04: Delta(
        {
            "nki.jit": function("func=None, **kwargs", since="2.30"),
            _ISA
            + "activate2": function(
                "dst, op, data, imm0, imm1, op0, op1, relu_param=0.0, reverse0=False, reverse1=False, reduce_op=None, "
                "reduce_res=None, reduce_cmd=reduce_cmd.idle, name=None",
                since="2.30",
                note="NeuronCore-v4.",
            ),
            _ISA
            + "dma_compute": function(
                "dst, srcs, reduce_op, scales=None, unique_indices=True, oob_mode=oob_mode.error, name=None",
                since="2.30",
            ),
            _ISA
            + "dma_copy": function(
                "dst, src, priority=None, oob_mode=oob_mode.error, dge_mode=dge_mode.unknown, engine=engine.unknown, "
                "name=None",
                since="2.30",
            ),
            _ISA
            + "dma_transpose": function(
                "dst, src, axes=None, priority=None, dge_mode=dge_mode.unknown, oob_mode=oob_mode.error, name=None",
                since="2.30",
            ),
            _ISA
            + "tensor_scalar_reduce": function(
                "dst, data, op0, operand0, reduce_op, reduce_res, reverse0=False, reduce_cmd=reduce_cmd.reset_reduce, "
                "reduce_init=None, name=None",
                since="2.30",
            ),
            **_collectives(", priority=None", "2.30"),
            **{
                _NL + name: function("x, y, dtype=None", since="2.30", roles=_OPERATOR)
                for name in ("abs_max", "abs_min")
            },
            _NL + "bypass": Symbol("token", since="2.30", note="op0 and op1 of activate2."),
            _NL + "prelu": Symbol("token", roles=frozenset({"activation"}), since="2.30", note="op of activate2."),
            **{
                f"{_NL}tile_size.{name}": Symbol("attribute", since="2.30")
                for name in (
                    *("sbuf_size_bytes", "sbuf_fmax", "sbuf_fmax_bytes"),
                    *("psum_bank_fmax", "psum_bank_fmax_bytes", "psum_fmax_bytes", "psum_num_banks"),
                )
            },
        },
        frozenset({_ISA + "tensor_copy_dynamic_src", _ISA + "tensor_copy_dynamic_dst"}),
    ),
    V05: Delta(
        {
            _ISA + "get_nc_sub_version": function("", since="2.31"),
            _ISA + "rand_get_state": function("dst, engine=engine.gpsimd, name=None", since="2.31"),
            _ISA + "rand_set_state": function("src_seeds, engine=engine.gpsimd, name=None", since="2.31"),
            _ISA + "rng": function("dst, engine=engine.vector, name=None", since="2.31"),
            **_collectives(", priority=None, name=None", "2.31"),
            _NCC
            + "collective_permute_implicit_current_processing_rank_id": function(
                "iteration_id, replica_group, channel_id=0, name=None", since="2.31"
            ),
            _NCC + "rank_id": function("name=None", since="2.31"),
            _NL + "average": Symbol("token", since="2.31", note="No page says where it may stand."),
            _NL + "float8_e8m0fnu": Symbol("dtype", since="2.31"),
        },
        frozenset({_NL + "tile_size.psum_fmax_bytes"}),
    ),
    V06: Delta(
        {
            _ISA
            + "tensor_scalar_reduce": function(
                "dst, data, op0, operand0, reduce_op, reduce_res=None, reverse0=False, "
                "reduce_cmd=reduce_cmd.reset_reduce, reduce_init=None, reduce_res_negate=False, name=None",
                since="2.32",
            ),
            _ISA + "topk": function("val_dst, idx_dst, src, n, name=None", since="2.32"),
            _ISA + "NkiInstruction": Symbol("class", since="2.32", note="What instructions give back, for schedules."),
            _NCC
            + "all_gather_v": function(
                "srcs, dsts, replica_group, metadata_tensor, recv_counts_known=False, has_rdispls=False, "
                "priority=None, name=None",
                since="2.32",
            ),
            _NL + "fori_loop": function("lower, upper, body_fun, step=1", since="2.32"),
            _NL + "while_loop": function("init, body_fun", since="2.32"),
            _NL + "DType": Symbol("class", since="2.32", note="For annotations."),
        }
    ),
}
"""What each version changed. :func:`.beta2.table` adds them up."""

_VIEWS = {
    "broadcast": "dim, size",
    "expand_dim": "dim",
    "flatten_dims": "start_dim, end_dim",
    "indirect": "index, num_elem=None",
    "is_contiguous": "",
    "is_indirect": "",
    "permute": "dims",
    "rearrange": "src_pattern, dst_pattern, fixed_sizes=None",
    "reshape_dim": "dim, shape",
    "select": "dim, index",
    "slice": "dim, start, end, step=1",
    "squeeze_dim": "dim",
    "vector_select": "dim, vector_offset",
}
_AP = "pattern, offset={}, scalar_offset=None, vector_offset=None, indirect_dim=0, dtype=None"

TENSOR_03 = Delta(
    {
        "get_pattern": function("", since="2.29"),
        "reshape": function("shape", since="2.29"),
        "view": function("dtype", since="2.29"),
        "ndim": Symbol("attribute", since="2.29"),
        "size": Symbol("attribute", since="2.29"),
    },
    frozenset({"address", "address_name", "pattern"}),
)
"""The tensor of 0.3: the language guide of 2.29."""

TENSOR_DELTAS: dict[Version, Delta] = {
    V04: Delta(
        {
            "ap": function(_AP.format(0), since="2.30"),
            "reshape": function("new_shape=None, shape=None", since="2.30"),
            **{name: Symbol("attribute", since="2.30") for name in ("sim_value", "device_value")},
            "is_identity": function("", since="2.30"),
        }
    ),
    V05: Delta(
        {
            "ap": function(_AP.format(None), since="2.31"),
            "reshape": function("shape", since="2.31"),
            "strides": Symbol("attribute", since="2.31"),
            "reinterpret_cast": function("dtype", since="2.31"),
            **{name: function(signature, since="2.31") for name, signature in _VIEWS.items()},
        },
        frozenset({"sim_value", "device_value", "is_identity"}),
    ),
}
"""What each version changed of the methods and attributes of a tensor."""
