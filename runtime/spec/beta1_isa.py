"""``neuronxcc.nki.isa`` of 2.26.1: every public symbol, and what Beta 2 makes of it.

Source: the API stubs of the SDK documentation at v2.26.1. In Beta 2 every instruction takes its destination first, as
``dst``, and returns nothing.
"""

from __future__ import annotations

from .beta1_symbols import Symbol, mapped, refused, unchanged

ISA = "nki.isa."
_RESULT = ", mask=None, dtype=None, **kwargs"


def _enum(name: str, members: dict[str, int], note: str = "") -> dict[str, Symbol]:
    """An enumeration and its members; ``note`` stands on each member."""
    table = {f"nisa.{name}": Symbol("enum", (), "unchanged", (ISA + name,), note)}
    for member in members:
        table[f"nisa.{name}.{member}"] = Symbol("member", (), "unchanged", (f"{ISA}{name}.{member}",), note)
    return table


def _instruction(signature: str, name: str, note: str = "", **keywords: str) -> Symbol:
    return mapped(signature, ISA + name, keywords=keywords, note=note)


ENUMS = {
    "dge_mode": {"none": 0, "swdge": 1, "hwdge": 2, "unknown": 3},
    "engine": {"tensor": 1, "vector": 5, "scalar": 2, "gpsimd": 3, "sync": 6, "unknown": 0},
    "nc_version": {"gen2": 2, "gen3": 3},
    "oob_mode": {"error": 0, "skip": 1},
    "reduce_cmd": {"idle": 0, "reset": 1, "reduce": 2, "reset_reduce": 3},
}
"""Numeric values in Beta 1. ``dge_mode`` is numbered differently in Beta 2, so a literal number must become a name."""

ENGINES = ("dma_engine", "gpsimd_engine", "scalar_engine", "tensor_engine", "unknown_engine", "vector_engine")

SYMBOLS: dict[str, Symbol] = {
    **_enum(
        "dge_mode", ENUMS["dge_mode"], "The numbers differ between the versions: write the name, never the number."
    ),
    **_enum("engine", ENUMS["engine"]),
    **_enum("nc_version", ENUMS["nc_version"]),
    **_enum("oob_mode", ENUMS["oob_mode"]),
    **_enum("reduce_cmd", ENUMS["reduce_cmd"]),
    **{f"nisa.{name}": Symbol("object", (), "unchanged", (ISA + name,)) for name in ENGINES},
    "nisa.fp32": mapped("", note="Write its members as literals.", kind="class"),
    "nisa.fp32.min": mapped("", note="Write the literal -3.4028235e+38.", kind="attribute"),
    "nisa.activation": _instruction(
        "op, data, *, bias=None, scale=1.0, reduce_op=None, reduce_res=None, reduce_cmd=reduce_cmd.idle" + _RESULT,
        "activation",
        "A bias must be a (P, 1) tile, never a number.",
    ),
    "nisa.activation_reduce": _instruction(
        "op, data, *, reduce_op, reduce_res, bias=None, scale=1.0" + _RESULT,
        "activation_reduce",
        "A bias must be a (P, 1) tile, never a number.",
    ),
    "nisa.affine_select": _instruction(
        "pred, on_true_tile, on_false_value, *" + _RESULT,
        "affine_select",
        "The predicate becomes pattern=, offset=, channel_multiplier= and cmp_op=.",
        pred="The affine comparison is spelled as pattern=, offset=, channel_multiplier= and cmp_op=.",
    ),
    "nisa.bn_aggr": _instruction("data, *" + _RESULT, "bn_aggr"),
    "nisa.bn_stats": _instruction("data, *" + _RESULT, "bn_stats"),
    "nisa.builtin_custom_op": refused(
        "function_name, lib_file_name, ulib_to_ucode_version, ulib_to_isa_version, srcs, dsts, **kwargs",
        "Beta 2 has no custom operators: write the computation with instructions.",
    ),
    "nisa.dma_copy": _instruction(
        "*, dst, src, mask=None, dst_rmw_op=None, oob_mode=oob_mode.error, dge_mode=dge_mode.unknown", "dma_copy"
    ),
    "nisa.dma_transpose": _instruction(
        "src, *, axes=None" + _RESULT, "dma_transpose", "Beta 2 wants four dimensions on both sides."
    ),
    "nisa.dropout": _instruction("data, prob, *" + _RESULT, "dropout"),
    "nisa.get_nc_version": unchanged("", ISA + "get_nc_version"),
    "nisa.iota": _instruction(
        "expr, dtype, *, mask=None, **kwargs",
        "iota",
        "The index expression becomes pattern=, offset= and channel_multiplier=.",
        expr="The index expression is spelled as pattern=, offset= and channel_multiplier=.",
    ),
    "nisa.local_gather": _instruction(
        "src_buffer, index, num_elem_per_idx=1, num_valid_indices=None, *, mask=None", "local_gather"
    ),
    "nisa.max8": _instruction("*, src" + _RESULT, "max8"),
    "nisa.memset": _instruction(
        "shape, value, dtype, *, mask=None, engine=engine.unknown, **kwargs",
        "memset",
        shape="The destination has this shape: allocate it so.",
    ),
    "nisa.nc_find_index8": _instruction("*, data, vals" + _RESULT, "nc_find_index8"),
    "nisa.nc_match_replace8": _instruction("*, data, vals, imm, dst_idx=None" + _RESULT, "nc_match_replace8"),
    "nisa.nc_matmul": _instruction(
        "stationary, moving, *, is_stationary_onezero=False, is_moving_onezero=False, is_transpose=False, "
        "tile_position=(), tile_size=(), mask=None, **kwargs",
        "nc_matmul",
        "The destination is a PSUM tile; a second matmul into the same tile accumulates.",
    ),
    "nisa.nc_stream_shuffle": _instruction(
        "src, dst, shuffle_mask, *, dtype=None, mask=None, **kwargs",
        "nc_stream_shuffle",
        "dst and src have changed places.",
    ),
    "nisa.nc_transpose": _instruction(
        "data, *, mask=None, dtype=None, engine=engine.unknown, **kwargs",
        "nc_transpose",
        "The destination has the data type of data: another one needs a tensor_copy.",
    ),
    "nisa.range_select": _instruction(
        "*, on_true_tile, comp_op0, comp_op1, bound0, bound1, reduce_cmd=reduce_cmd.idle, reduce_res=None, "
        "reduce_op=np.amax, range_start=0, on_false_value=fp32.min" + _RESULT,
        "range_select",
        "Beta 2 always resets the accumulator and always selects the smallest float32.",
    ),
    "nisa.reciprocal": _instruction("data, *, dtype=None, mask=None, **kwargs", "reciprocal"),
    "nisa.scalar_tensor_tensor": _instruction(
        "*, data, op0, operand0, op1, operand1, reverse0=False, reverse1=False, dtype=None, mask=None, **kwargs",
        "scalar_tensor_tensor",
    ),
    "nisa.select_reduce": _instruction(
        "*, dst, predicate, on_true, on_false, reduce_res=None, reduce_cmd=reduce_cmd.idle, reduce_op=np.amax, "
        "reverse_pred=False" + _RESULT,
        "select_reduce",
    ),
    "nisa.sequence_bounds": _instruction("*, segment_ids, dtype=None", "sequence_bounds"),
    "nisa.tensor_copy": _instruction("src, *, mask=None, dtype=None, engine=engine.unknown, **kwargs", "tensor_copy"),
    "nisa.tensor_copy_dynamic_dst": mapped(
        "*, dst, src, mask=None, dtype=None, engine=engine.unknown, **kwargs",
        ISA + "tensor_copy",
        note="The runtime offset moves into dst.ap(..., scalar_offset=).",
    ),
    "nisa.tensor_copy_dynamic_src": mapped(
        "src, *, mask=None, dtype=None, engine=engine.unknown, **kwargs",
        ISA + "tensor_copy",
        note="The runtime offset moves into src.ap(..., scalar_offset=).",
    ),
    "nisa.tensor_copy_predicated": _instruction(
        "*, src, dst, predicate, reverse_pred=False" + _RESULT, "tensor_copy_predicated"
    ),
    "nisa.tensor_partition_reduce": _instruction("op, data, *" + _RESULT, "tensor_partition_reduce"),
    "nisa.tensor_reduce": _instruction(
        "op, data, axis, *, mask=None, dtype=None, negate=False, keepdims=False, **kwargs",
        "tensor_reduce",
        "axis=1 means the last dimension in Beta 2, whatever the rank.",
    ),
    "nisa.tensor_scalar": _instruction(
        "data, op0, operand0, reverse0=False, op1=None, operand1=None, reverse1=False, *, dtype=None, mask=None, "
        "engine=engine.unknown, **kwargs",
        "tensor_scalar",
    ),
    "nisa.tensor_scalar_reduce": _instruction(
        "*, data, op0, operand0, reduce_op, reduce_res, reverse0=False, dtype=None, mask=None, **kwargs",
        "tensor_scalar_reduce",
    ),
    "nisa.tensor_tensor": _instruction(
        "data1, data2, op, *, dtype=None, mask=None, engine=engine.unknown, **kwargs",
        "tensor_tensor",
        "Beta 2 does not broadcast a (P, 1) operand: use tensor_scalar.",
    ),
    "nisa.tensor_tensor_scan": _instruction(
        "data0, data1, initial, op0, op1, reverse0=False, reverse1=False, *, dtype=None, mask=None, **kwargs",
        "tensor_tensor_scan",
        "A numeric initial value must be a float.",
    ),
}
