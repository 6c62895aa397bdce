"""``neuronxcc.nki.language`` of 2.26.1: every public symbol, and what Beta 2 makes of it.

Source: the API stubs of the SDK documentation at v2.26.1.
"""

from __future__ import annotations

from .beta1_symbols import SPLIT, Symbol, mapped, refused, unchanged

NL = "nki.language."
ISA = "nki.isa."

DTYPES = "bfloat16 bool_ float16 float32 float8_e4m3 float8_e5m2 int16 int32 int8 tfloat32 uint16 uint32 uint8".split()
BUFFERS = ("hbm", "private_hbm", "psum", "sbuf", "shared_hbm")
TILE_SIZES = (
    "bn_stats_fmax gemm_moving_fmax gemm_stationary_fmax pmax psum_fmax psum_min_align sbuf_min_align "
    "total_available_sbuf_size"
).split()
ACTIVATIONS = (
    "abs arctan erf erf_dx exp gelu gelu_apprx_sigmoid gelu_apprx_tanh gelu_dx log mish relu rsqrt sigmoid sign silu "
    "silu_dx sin softplus sqrt square tanh"
).split()
"""Functions of one tile that are activations of ScalarE and tokens in both versions."""
BINARY = "add bitwise_and bitwise_or bitwise_xor left_shift maximum minimum multiply power right_shift subtract".split()
COMPARISONS = "equal greater greater_equal less less_equal logical_and logical_or logical_xor not_equal".split()
NO_INSTRUCTION = ("ceil", "tan", "trunc")
REDUCTIONS = {"max": "maximum", "min": "minimum", "prod": "multiply", "sum": "add"}

_UNARY = "x, *, dtype=None, mask=None, **kwargs"
_PAIR = {"x": "data1", "y": "data2"}
_STATE = "A Beta 2 loop body runs once an iteration: Python state that it advances advances every time."
_PAIR_NOTE = "tensor_tensor for tiles of one shape, tensor_scalar when an operand is a number or a (P, 1) tile."
_FRESH = "The tile is allocated with nl.ndarray and filled with nisa.memset."


def _activation(name: str) -> Symbol:
    return mapped(_UNARY, ISA + "activation", NL + name, keywords={"x": "data"})


def _binary(name: str, dtype: str) -> Symbol:
    signature = f"x, y, *, dtype={dtype}, mask=None, **kwargs"
    return mapped(signature, ISA + "tensor_tensor", ISA + "tensor_scalar", NL + name, keywords=_PAIR, note=_PAIR_NOTE)


def _reduction(token: str) -> Symbol:
    return mapped(
        "x, axis, *, dtype=None, mask=None, keepdims=False, **kwargs",
        ISA + "tensor_reduce",
        NL + token,
        keywords={"x": "data"},
    )


def _filled(signature: str, note: str = _FRESH) -> Symbol:
    keywords = {
        "dtype": "dtype",
        "a": "The new tile has the shape and the data type of this one.",
        "fill_value": "value",
    }
    return mapped(signature, NL + "ndarray", ISA + "memset", keywords=keywords, note=note)


SYMBOLS: dict[str, Symbol] = {
    **{f"nl.{name}": Symbol("dtype", (), "unchanged", (NL + name,)) for name in DTYPES},
    **{f"nl.{name}": Symbol("buffer", (), "unchanged", (NL + name,)) for name in BUFFERS},
    "nl.tile_size": Symbol("class", (), "unchanged", (NL + "tile_size",)),
    **{f"nl.tile_size.{n}": Symbol("attribute", (), "unchanged", (f"{NL}tile_size.{n}",)) for n in TILE_SIZES},
    **{f"nl.{name}": _activation(name) for name in ACTIVATIONS},
    **{f"nl.{name}": _binary(name, "None") for name in BINARY},
    **{f"nl.{name}": _binary(name, "bool") for name in COMPARISONS},
    **{f"nl.{name}": _reduction(token) for name, token in REDUCTIONS.items()},
    **{
        f"nl.{name}": refused(_UNARY, "NKI 0.2 has no such function; 0.3 and later have it for whole tiles.")
        for name in NO_INSTRUCTION
    },
    "nl.bfp16": mapped("", note="Write its members as literals.", kind="class"),
    "nl.bfp16.min": mapped("", note="Write the literal of the smallest value.", kind="attribute"),
    "nl.fp32": mapped("", note="Write its members as literals.", kind="class"),
    "nl.fp32.min": mapped("", note="Write the literal -3.4028235e+38.", kind="attribute"),
    "nl.mgrid": mapped("", note="Becomes the slices that it spans; a strided one becomes `.ap`.", kind="object"),
    "nl.nc": refused("", "A Beta 2 grid is one integer: launch with kernel[n].", kind="object"),
    "nl.spmd_dim": refused("", "A Beta 2 grid is one integer: launch with kernel[n].", kind="object"),
    "nl.par_dim": mapped(
        "",
        NL + "ndarray",
        note="The partition dimension stands first; dimensions before it become a list.",
        kind="object",
    ),
    "nl.affine_range": unchanged("*args, **kwargs", NL + "affine_range", _STATE),
    "nl.all": mapped(
        "x, axis, *, dtype=bool, mask=None, **kwargs",
        ISA + "tensor_reduce",
        NL + "logical_and",
        keywords={"x": "data"},
    ),
    "nl.all_reduce": mapped(
        "x, op, program_axes, *, dtype=None, mask=None, parallel_reduce=True, asynchronous=False, **kwargs",
        ISA + "sendrecv",
        ISA + "tensor_tensor",
        keywords={
            "x": "src",
            "program_axes": "The launch grid of Beta 2 has one axis.",
            "parallel_reduce": "How to reduce, not what.",
            "asynchronous": "How to reduce, not what.",
        },
        note="Each of the two programs sends its tile to the other one, and computes with both.",
    ),
    "nl.arange": mapped("*args", note="Becomes the slice that it spans; a strided one becomes `.ap`."),
    "nl.atomic_rmw": mapped(
        "dst, value, op, *, mask=None, **kwargs",
        ISA + "dma_copy",
        keywords={"value": "src", "op": "dst_rmw_op"},
    ),
    "nl.broadcast_to": mapped(
        "src, *, shape, **kwargs",
        ISA + "nc_stream_shuffle",
        ISA + "tensor_copy",
        keywords={"shape": "The destination has this shape: allocate it so."},
        note="Partitions are broadcast 32 at a time with nc_stream_shuffle; free dimensions with a copy.",
    ),
    "nl.copy": mapped("src, *, mask=None, dtype=None, **kwargs", ISA + "tensor_copy", NL + "copy"),
    "nl.cos": mapped(
        _UNARY,
        ISA + "activation",
        NL + "sin",
        keywords={"x": "data"},
        note="sin with a bias tile of pi/2; the rounding differs.",
    ),
    "nl.device_print": mapped(
        "prefix, x, *, mask=None, **kwargs",
        NL + "device_print",
        keywords={"prefix": "print_prefix", "x": "tensor"},
    ),
    "nl.divide": mapped(
        "x, y, *, dtype=None, mask=None, **kwargs",
        ISA + "reciprocal",
        ISA + "tensor_tensor",
        ISA + "tensor_scalar",
        keywords=_PAIR,
        note="Reciprocal and multiply: the last bit may differ.",
    ),
    "nl.dropout": mapped(
        "x, rate, *, dtype=None, mask=None, **kwargs",
        ISA + "dropout",
        keywords={"x": "data", "rate": "prob"},
        note="Write nisa.dropout(dst=, data=, prob=), and try which it keeps: the documentation says that prob "
        "is that of dropping, the front end that of keeping. The random numbers are others.",
    ),
    "nl.ds": unchanged("start, size", NL + "ds"),
    "nl.empty_like": mapped(
        'a, dtype=None, *, buffer=None, name="", **kwargs',
        NL + "ndarray",
        keywords={"a": "The new tile has the shape and the data type of this one.", "dtype": "dtype"},
    ),
    "nl.expand_dims": mapped(
        "data, axis",
        keywords={"data": "It is the tensor that is reshaped.", "axis": "It is part of the new shape."},
        note="Use the tensor's reshape.",
    ),
    "nl.finfo": mapped("dtype", keywords={"dtype": "It selects the literal."}, note="Write the limit as a literal."),
    "nl.floor": mapped(
        _UNARY,
        ISA + "tensor_copy",
        ISA + "tensor_tensor",
        keywords={"x": "src"},
        note="Into an integer type: convert, and subtract 1 where that went up.",
    ),
    "nl.fmod": refused(
        "x, y, dtype=None, mask=None, **kwargs",
        "NKI 0.2 has no such operator; 0.3 and later have it, which is known not to work with a number.",
    ),
    "nl.full": _filled('shape, fill_value, dtype, *, buffer=None, name="", **kwargs'),
    "nl.gather_flattened": mapped("data, indices, *, mask=None, dtype=None, **kwargs", ISA + "nc_n_gather"),
    "nl.gemm_grid": refused("", "Write the slices of the operands."),
    "nl.gemm_stationary_grid": refused("", "Write the slices of the operands."),
    "nl.invert": mapped(_UNARY, ISA + "tensor_scalar", NL + "invert", keywords={"x": "data"}),
    "nl.load": mapped(
        "src, *, mask=None, dtype=None, **kwargs",
        ISA + "dma_copy",
        note="The tile is allocated with nl.ndarray and filled by the copy.",
    ),
    "nl.load_transpose2d": mapped(
        "src, *, mask=None, dtype=None, **kwargs",
        ISA + "dma_copy",
        ISA + "nc_transpose",
        ISA + "tensor_copy",
        note="Copy to SBUF, transpose into PSUM, copy to SBUF.",
    ),
    "nl.logical_not": mapped(
        "x, *, dtype=bool, mask=None, **kwargs",
        ISA + "tensor_scalar",
        NL + "equal",
        keywords={"x": "data"},
        note="Compare with zero: Beta 2 refuses the token logical_not.",
    ),
    "nl.loop_reduce": mapped(
        "x, op, loop_indices, *, dtype=None, mask=None, **kwargs",
        ISA + "tensor_tensor",
        keywords={"x": "data2", "loop_indices": "The loop that stands around it does the reduction."},
        note="The destination is also the first operand.",
    ),
    "nl.matmul": mapped(
        "x, y, *, transpose_x=False, mask=None, **kwargs",
        ISA + "nc_matmul",
        keywords={"x": "stationary", "y": "moving", "transpose_x": "False needs nc_transpose and tensor_copy first."},
    ),
    "nl.mean": mapped(
        "x, axis, *, dtype=None, mask=None, keepdims=False, **kwargs",
        ISA + "tensor_reduce",
        ISA + "tensor_scalar",
        keywords={"x": "data"},
        note="The sum times the reciprocal of the count: the last bit may differ.",
    ),
    "nl.mod": mapped(
        "x, y, dtype=None, mask=None, **kwargs",
        ISA + "tensor_scalar",
        ISA + "scalar_tensor_tensor",
        ISA + "tensor_tensor",
        keywords={"x": "operand1", "y": "operand0"},
        note="Of whole numbers: x - y * q, with a quotient that is rounded, then corrected by what it leaves.",
    ),
    "nl.ndarray": mapped(
        'shape, dtype, *, buffer=None, name="", **kwargs',
        NL + "ndarray",
        keywords={"dtype": "dtype"},
        note="Block dimensions become lists; an allocation function becomes address=(partition, byte).",
    ),
    "nl.negative": mapped(_UNARY, ISA + "tensor_scalar", NL + "multiply", keywords={"x": "data"}, note="Times -1.0."),
    "nl.num_programs": unchanged("axes=None", NL + "num_programs", "Only axis 0 exists."),
    "nl.ones": _filled('shape, dtype, *, buffer=None, name="", **kwargs'),
    "nl.program_id": unchanged("axis", NL + "program_id", "Only axis 0 exists."),
    "nl.program_ndim": unchanged("", NL + "program_ndim"),
    "nl.rand": mapped(
        "shape, dtype=np.float32, **kwargs",
        NL + "ndarray",
        ISA + "rng",
        keywords={"dtype": "dtype"},
        note="rng gives integers: scale them to [0, 1) by hand.",
    ),
    "nl.random_seed": mapped(
        "seed, *, mask=None, **kwargs",
        ISA + "set_rng_seed",
        keywords={"seed": "src_seeds"},
        note="Write nisa.set_rng_seed(src_seeds=). The random numbers that follow are not those of Beta 1.",
    ),
    "nl.reciprocal": mapped(_UNARY, ISA + "reciprocal", NL + "reciprocal", keywords={"x": "data"}),
    "nl.rms_norm": mapped(
        "x, w, axis, n, epsilon=1e-06, *, dtype=None, compute_dtype=None, mask=None, **kwargs",
        ISA + "activation_reduce",
        ISA + "activation",
        ISA + "tensor_scalar",
        keywords=dict.fromkeys(("x", "w", "axis", "n", "epsilon", "compute_dtype"), SPLIT),
        note="Square and sum, scale, rsqrt, multiply: several instructions by hand.",
    ),
    "nl.sequential_range": unchanged("*args, **kwargs", NL + "sequential_range", _STATE),
    "nl.shared_constant": mapped(
        "constant, dtype=None, **kwargs",
        NL + "shared_constant",
        "nki.meta.tensor.identity",
        keywords={
            "constant": "An identity is nki.tensor.identity(n).",
            "dtype": "The constant has the data type of the trace-time tensor; the load converts it.",
        },
        note="Pass a constant that is no identity and no comparison of indices to the kernel as an input.",
    ),
    "nl.shared_identity_matrix": unchanged("n, dtype=np.uint8, **kwargs", NL + "shared_identity_matrix"),
    "nl.softmax": mapped(
        "x, axis, *, dtype=None, compute_dtype=None, mask=None, **kwargs",
        ISA + "tensor_reduce",
        ISA + "activation",
        ISA + "reciprocal",
        ISA + "tensor_scalar",
        keywords=dict.fromkeys(("x", "axis", "compute_dtype"), SPLIT),
        note="Maximum, exponential of the difference, sum, reciprocal, multiply: several instructions by hand.",
    ),
    "nl.static_cast": mapped(
        "input_data, dtype", ISA + "tensor_copy", keywords={"input_data": "src"}, note="On numbers: write the literal."
    ),
    "nl.static_range": unchanged("*args", NL + "static_range"),
    "nl.store": mapped("dst, value, *, mask=None, **kwargs", ISA + "dma_copy", keywords={"value": "src"}),
    "nl.transpose": mapped(_UNARY, ISA + "nc_transpose", ISA + "tensor_copy", keywords={"x": "data"}),
    "nl.var": mapped(
        "x, axis, *, dtype=None, mask=None, **kwargs",
        ISA + "bn_stats",
        ISA + "bn_aggr",
        keywords={"x": "data", "axis": "bn_stats takes the free dimension."},
        note="The variance is the second column of bn_aggr.",
    ),
    "nl.where": mapped(
        "condition, x, y, *, dtype=None, mask=None, **kwargs",
        ISA + "tensor_copy",
        ISA + "tensor_copy_predicated",
        keywords={"condition": "predicate", "x": "src", "y": "It is copied to the destination first."},
    ),
    "nl.zeros": _filled(
        'shape, dtype, *, buffer=None, name="", **kwargs',
        "nl.ndarray and nisa.memset; a PSUM tile that only matmul writes needs no memset.",
    ),
    "nl.zeros_like": _filled('a, dtype=None, *, buffer=None, name="", **kwargs'),
}
