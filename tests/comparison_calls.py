"""One call of each instruction with every keyword that it takes, and what to change each keyword to.

A call is text: ``keyword=expression``. What a keyword is changed to is told by the expression (:data:`OTHER`), or by
:data:`CHANGES` for a keyword of one instruction.
"""

from __future__ import annotations

TILES = {
    **dict.fromkeys(("d", "d2", "t", "t2", "w", "w2"), ((32, 32), "float32", "sbuf")),
    **dict.fromkeys(("c", "c2", "r", "r2", "lo", "hi"), ((32, 1), "float32", "sbuf")),
    **dict.fromkeys(("e", "e2", "v", "v2"), ((32, 8), "float32", "sbuf")),
    **dict.fromkeys(("i", "i2"), ((32, 8), "uint32", "sbuf")),
    **dict.fromkeys(("m", "m2"), ((32, 32), "uint8", "sbuf")),
    **dict.fromkeys(("p", "p2"), ((32, 32), "float32", "psum")),
    **dict.fromkeys(("row", "row2"), ((1, 32), "float32", "sbuf")),
    **dict.fromkeys(("k", "k2"), ((32, 2), "uint16", "sbuf")),
    **dict.fromkeys(("j", "j2", "g", "g2"), ((32, 32), "uint32", "sbuf")),
    **dict.fromkeys(("s", "s2"), ((32, 6), "float32", "sbuf")),
    **dict.fromkeys(("q", "q2"), ((32, 2), "float32", "sbuf")),
    **dict.fromkeys(("z", "z2"), ((32, 33), "int32", "sbuf")),
    **dict.fromkeys(("one", "one2"), ((1, 1), "int32", "sbuf")),
    **dict.fromkeys(("h", "h2"), ((32, 4, 8), "float32", "sbuf")),
    **dict.fromkeys(("f", "f2"), ((32, 4), "float32", "sbuf")),
    **dict.fromkeys(("b", "b2"), ((1, 2, 32), "float32", "sbuf")),
    **dict.fromkeys(("a4", "a4b", "f4", "f4b"), ((32, 1, 1, 32), "float32", "sbuf")),
}
"""Tiles of a call's kernel: shape, type, memory. A name with a 2 or b is another tile of the same kind."""

BETA2 = {
    "activation": "dst=d, op=nl.exp, data=t, bias=c, scale=2.0, reduce_op=nl.add, reduce_res=r, "
    "reduce_cmd=nisa.reduce_cmd.reset_reduce, name='a'",
    "activation_reduce": "dst=d, op=nl.exp, data=t, reduce_op=nl.add, reduce_res=r, bias=c, scale=2.0, name='a'",
    "affine_select": "dst=d, pattern=[[-1, 32]], offset=0, channel_multiplier=1, on_true_tile=t, on_false_value=0.0, "
    "cmp_op=nl.equal, name='a'",
    "bn_aggr": "dst=q, data=s, name='a'",
    "bn_stats": "dst=s, data=t, name='a'",
    "dma_compute": "dst=d, srcs=[t, w], scales=[1.0, 1.0], reduce_op=nl.add, unique_indices=True, name='a'",
    "dma_copy": "dst=d, src=t, dst_rmw_op=nl.add, oob_mode=nisa.oob_mode.error, dge_mode=nisa.dge_mode.unknown, "
    "unique_indices=True, engine=nisa.engine.unknown, priority=None, name='a'",
    "dma_transpose": "dst=a4, src=f4, axes=(3, 1, 2, 0), dge_mode=nisa.dge_mode.unknown, "
    "oob_mode=nisa.oob_mode.error, priority=None, name='a'",
    "dropout": "dst=d, data=t, prob=0.5, name='a'",
    "exponential": "dst=d, src=t, max_value=0.0, reduce_res=r, reduce_cmd=nisa.reduce_cmd.load_reduce, "
    "reduce_init=0.0, name='a'",
    "iota": "dst=j, pattern=[[1, 32]], offset=0, channel_multiplier=0, name='a'",
    "local_gather": "dst=q, src_buffer=t, index=k, num_elem_per_idx=1, num_valid_indices=2, name='a'",
    "max8": "dst=e, src=t, name='a'",
    "memset": "dst=d, value=0.0, engine=nisa.engine.unknown, name='a'",
    "nc_find_index8": "dst=i, data=t, vals=v, name='a'",
    "nc_match_replace8": "dst=d, data=t, vals=v, imm=0.0, dst_idx=i, name='a'",
    "nc_matmul": "dst=p, stationary=t, moving=w, is_stationary_onezero=False, is_moving_onezero=False, "
    "is_transpose=False, tile_position=(0, 0), tile_size=(32, 32), perf_mode=nisa.matmul_perf_mode.none, name='a'",
    "nc_n_gather": "dst=j, data=g, indices=g2, dtype=None, name='a'",
    "nc_stream_shuffle": "dst=d, src=t, shuffle_mask=[0] * 32, name='a'",
    "nc_transpose": "dst=p, data=t, engine=nisa.engine.unknown, name='a'",
    "nonzero_with_count": "dst=z, src=t, index_offset=0, padding_val=-1, name='a'",
    "rand2": "dst=d, min=0.0, max=2.0, name='a'",
    "range_select": "dst=d, on_true_tile=t, comp_op0=nl.greater_equal, comp_op1=nl.less, bound0=lo, bound1=hi, "
    "reduce_cmd=nisa.reduce_cmd.reset_reduce, reduce_res=r, reduce_op=nl.maximum, range_start=0.0, "
    "on_false_value=-3.4028235e+38, name='a'",
    "reciprocal": "dst=d, data=t, name='a'",
    "rng": "dst=j, engine=nisa.engine.unknown, name='a'",
    "scalar_tensor_tensor": "dst=d, data=t, op0=nl.subtract, operand0=2.0, op1=nl.subtract, operand1=w, "
    "reverse0=False, reverse1=False, name='a'",
    "select_reduce": "dst=d, predicate=w, on_true=t, on_false=0.0, reduce_res=r, "
    "reduce_cmd=nisa.reduce_cmd.reset_reduce, reduce_op=nl.maximum, reverse_pred=False, name='a'",
    "sequence_bounds": "dst=b, segment_ids=row, dtype=None, name='a'",
    "set_rng_seed": "src_seeds=one, name='a'",
    "tensor_copy": "dst=d, src=t, dtype=None, engine=nisa.engine.unknown, name='a'",
    "tensor_copy_predicated": "dst=d, src=t, predicate=m, reverse_pred=False, name='a'",
    "tensor_partition_reduce": "dst=row, op=nl.add, data=t, name='a'",
    "tensor_reduce": "dst=f, op=nl.add, data=h, axis=1, negate=False, keepdims=False, name='a'",
    "tensor_scalar": "dst=d, data=t, op0=nl.subtract, operand0=2.0, reverse0=False, op1=nl.subtract, operand1=3.0, "
    "reverse1=False, engine=nisa.engine.unknown, name='a'",
    "tensor_scalar_cumulative": "dst=d, src=t, op0=nl.add, op1=nl.multiply, imm0=2.0, imm1=1.0, "
    "reduce_cmd=nisa.reduce_cmd.load_reduce, name='a'",
    "tensor_scalar_reduce": "dst=d, data=t, op0=nl.subtract, operand0=2.0, reduce_op=nl.add, reduce_res=r, "
    "reverse0=False, reduce_cmd=nisa.reduce_cmd.reset_reduce, reduce_init=None, name='a'",
    "tensor_tensor": "dst=d, data1=t, data2=w, op=nl.add, engine=nisa.engine.unknown, name='a'",
    "tensor_tensor_scan": "dst=d, data0=t, data1=w, initial=0.0, op0=nl.add, op1=nl.multiply, reverse0=False, "
    "reverse1=False, name='a'",
}
"""Instructions of Beta 2 that one program runs on tiles."""

OTHER = {
    **{name: f"{name}2" for name in TILES if f"{name}2" in TILES},
    "g2": "g",
    "h": "h2",
    "a4": "a4b",
    "f4": "f4b",
    "lo": "c",
    "hi": "c",
    "nl.exp": "nl.tanh",
    "nl.add": "nl.subtract",
    "nl.multiply": "nl.add",
    "nl.subtract": "nl.add",
    "np.subtract": "np.add",
    "nl.maximum": "nl.minimum",
    "nl.equal": "nl.not_equal",
    "nl.less": "nl.less_equal",
    "nl.greater_equal": "nl.greater",
    "0.0": "1.0",
    "1.0": "2.0",
    "2.0": "3.0",
    "3.0": "4.0",
    "0.5": "0.25",
    "0": "1",
    "1": "2",
    "2": "1",
    "-1": "-2",
    "True": "False",
    "False": "True",
    "'a'": "'b'",
    "None": "2",
    "(3, 1, 2, 0)": "None",
    "(0, 0)": "(32, 0)",
    "(32, 32)": "(64, 64)",
    "[0] * 32": "[1] * 32",
    "[t, w]": "[w, t]",
    "[1.0, 1.0]": "[2.0, 1.0]",
    "[[1, 32]]": "[[2, 32]]",
    "[[-1, 32]]": "[[1, 32]]",
    "-3.4028235e+38": "0.0",
    "nisa.engine.unknown": "nisa.engine.vector",
    "nisa.dge_mode.unknown": "nisa.dge_mode.swdge",
    "nisa.oob_mode.error": "nisa.oob_mode.skip",
    "nisa.reduce_cmd.reset_reduce": "nisa.reduce_cmd.reduce",
    "nisa.reduce_cmd.load_reduce": "nisa.reduce_cmd.reset_reduce",
}
"""What an expression of a call is changed to."""

CHANGES = {
    ("activation", "reduce_op"): "None",
    ("dma_copy", "dst_rmw_op"): "None",
    ("dma_copy", "priority"): "1",
    ("dma_transpose", "priority"): "1",
    ("nc_matmul", "accumulate"): "False",
    ("nc_matmul", "perf_mode"): "nisa.matmul_perf_mode.double_row",
    ("nc_n_gather", "dtype"): "nl.float32",
    ("sequence_bounds", "dtype"): "nl.int32",
    ("tensor_copy", "dtype"): "nl.bfloat16",
    ("tensor_reduce", "axis"): "[3, 4]",
}
"""What a keyword of one instruction is changed to."""

BETA1 = {
    "activation": "op=nl.exp, data=t, bias=c, scale=2.0, reduce_op=np.add, reduce_res=r, "
    "reduce_cmd=nisa.reduce_cmd.reset_reduce, mask=None, dtype=None",
    "activation_reduce": "op=nl.exp, data=t, reduce_op=np.add, reduce_res=r, bias=c, scale=2.0, mask=None, dtype=None",
    "affine_select": "pred=(rows == columns), on_true_tile=t, on_false_value=0.0, mask=None, dtype=None",
    "bn_aggr": "data=s, mask=None, dtype=None",
    "bn_stats": "data=t, mask=None, dtype=None",
    "dma_copy": "dst=d, src=t, mask=None, dst_rmw_op=None, oob_mode=nisa.oob_mode.error, "
    "dge_mode=nisa.dge_mode.unknown",
    "dma_transpose": "src=t, axes=(1, 0), mask=None, dtype=None",
    "dropout": "data=t, prob=0.5, mask=None, dtype=None",
    "iota": "expr=(rows + columns), dtype=nl.int32, mask=None",
    "local_gather": "src_buffer=t, index=k, num_elem_per_idx=1, num_valid_indices=2, mask=None",
    "max8": "src=t, mask=None, dtype=None",
    "memset": "shape=(32, 32), value=0.0, dtype=nl.float32, mask=None, engine=nisa.engine.unknown",
    "nc_find_index8": "data=t, vals=v, mask=None, dtype=None",
    "nc_match_replace8": "data=t, vals=v, imm=0.0, dst_idx=i, mask=None, dtype=None",
    "nc_matmul": "stationary=t, moving=w, is_stationary_onezero=False, is_moving_onezero=False, is_transpose=False, "
    "tile_position=(), tile_size=(), mask=None",
    "nc_stream_shuffle": "src=t, dst=d, shuffle_mask=[0] * 32, dtype=None, mask=None",
    "nc_transpose": "data=t, mask=None, dtype=None, engine=nisa.engine.unknown",
    "range_select": "on_true_tile=t, comp_op0=np.greater_equal, comp_op1=np.less, bound0=lo, bound1=hi, "
    "reduce_cmd=nisa.reduce_cmd.reset_reduce, reduce_res=r, reduce_op=np.max, range_start=0.0, "
    "on_false_value=-3.4028235e+38, mask=None, dtype=None",
    "reciprocal": "data=t, dtype=None, mask=None",
    "scalar_tensor_tensor": "data=t, op0=np.subtract, operand0=2.0, op1=np.subtract, operand1=w, reverse0=False, "
    "reverse1=False, dtype=None, mask=None",
    "select_reduce": "dst=d, predicate=w, on_true=t, on_false=0.0, reduce_res=r, "
    "reduce_cmd=nisa.reduce_cmd.reset_reduce, reduce_op=np.max, reverse_pred=False, mask=None, dtype=None",
    "sequence_bounds": "segment_ids=row, dtype=None",
    "tensor_copy": "src=t, mask=None, dtype=None, engine=nisa.engine.unknown",
    "tensor_copy_dynamic_dst": "dst=d, src=t, mask=None, dtype=None, engine=nisa.engine.unknown",
    "tensor_copy_dynamic_src": "src=t, mask=None, dtype=None, engine=nisa.engine.unknown",
    "tensor_copy_predicated": "src=t, dst=d, predicate=m, reverse_pred=False, mask=None, dtype=None",
    "tensor_partition_reduce": "op=np.add, data=t, mask=None, dtype=None",
    "tensor_reduce": "op=np.add, data=h, axis=1, mask=None, dtype=None, negate=False, keepdims=False",
    "tensor_scalar": "data=t, op0=np.subtract, operand0=2.0, reverse0=False, op1=np.subtract, operand1=3.0, "
    "reverse1=False, dtype=None, mask=None, engine=nisa.engine.unknown",
    "tensor_scalar_reduce": "data=t, op0=np.subtract, operand0=2.0, reduce_op=np.add, reduce_res=r, reverse0=False, "
    "dtype=None, mask=None",
    "tensor_tensor": "data1=t, data2=w, op=np.add, dtype=None, mask=None, engine=nisa.engine.unknown",
    "tensor_tensor_scan": "data0=t, data1=w, initial=0.0, op0=np.add, op1=np.multiply, reverse0=False, "
    "reverse1=False, dtype=None, mask=None",
}
"""Instructions of Beta 1; ``rows`` and ``columns`` are index vectors."""

OTHER_BETA1 = {
    **OTHER,
    "np.add": "np.subtract",
    "np.multiply": "np.add",
    "np.max": "np.min",
    "np.less": "np.less_equal",
    "np.greater_equal": "np.greater",
    "nl.float32": "nl.bfloat16",
    "nl.int32": "nl.float32",
    "()": "(32, 32)",
    "(1, 0)": "None",
    "(32, 32)": "(32, 16)",
    "(rows == columns)": "(rows > columns)",
    "(rows + columns)": "(rows - columns)",
}
CHANGES_BETA1 = {
    ("dma_copy", "dst_rmw_op"): "np.add",
    ("activation", "reduce_op"): "None",
    ("tensor_copy_predicated", "mask"): "(rows < 16)",
    ("tensor_reduce", "keepdims"): "True",
}
CHANGES_BETA1_ALL = {"mask": "(rows < 16)", "dtype": "nl.bfloat16"}
"""What a keyword of any instruction is changed to."""
