"""``nki``, ``nki.language``, ``nki.meta.tensor`` of Beta 2 (SDK 2.28), what NKI 0.3 changed, and the legal Python.

Source: the API stubs of the SDK documentation at v2.28.0 and v2.29.0, the language guide and the scheduling guide of
2.28; the front end of leanprover/KLR at 7ccd18c for what it takes beyond the documentation.
"""

from __future__ import annotations

from . import operators
from .beta2_symbols import Symbol, function

NL = "nki.language."

DTYPES = tuple(
    "bool_ int8 int16 int32 uint8 uint16 uint32 float16 float32 bfloat16 tfloat32 float8_e4m3 float8_e5m2 "
    "float8_e4m3fn "
    "float8_e5m2_x4 float8_e4m3fn_x4 float4_e2m1fn_x4".split()
)
BUFFERS = ("sbuf", "psum", "hbm", "shared_hbm", "private_hbm")
TILE_SIZE = tuple(
    "pmax psum_fmax gemm_stationary_fmax gemm_moving_fmax bn_stats_fmax psum_min_align sbuf_min_align "
    "total_available_sbuf_size".split()
)
RANGES = ("range", "static_range", "affine_range", "sequential_range", "dynamic_range")
"""Last components of the names that make a ``for`` loop; ``dynamic_range`` makes a loop on the device."""

STUB_OPERATORS = tuple(
    "abs add bitwise_and bitwise_or bitwise_xor divide equal gelu_apprx_sigmoid gelu_apprx_sigmoid_dx greater "
    "greater_equal "
    "invert left_shift less less_equal logical_and logical_not logical_or logical_xor maximum minimum multiply "
    "not_equal power "
    "reciprocal right_shift rsqrt subtract".split()
)
"""Tokens that the stubs write as functions. They have no body: a call computes nothing."""

_BINARY = "x, y, dtype=None"
_UNARY = "x, dtype=None"
_REDUCE = "x, axis, dtype=None, keepdims=False"


def _roles(name: str) -> frozenset[str]:
    roles = {
        role for role, names in (("operator", operators.ALU), ("activation", operators.ACTIVATION)) if name in names
    }
    return frozenset(roles)


def _token(name: str) -> Symbol:
    note = "" if _roles(name) else "The documentation lists it, the front end accepts it nowhere."
    return Symbol("token", roles=_roles(name), documented=name in STUB_OPERATORS, note=note)


_TOKENS = sorted(operators.ALU | operators.ACTIVATION | set(STUB_OPERATORS))

NKI: dict[str, Symbol] = {
    "nki": Symbol("module"),
    "nki.collectives": Symbol("module", since="2.28"),
    "nki.compiler": Symbol("module", documented=False, note="Empty in Beta 2: allocators and decorators are gone."),
    "nki.isa": Symbol("module"),
    "nki.isa.constants": Symbol("module", documented=False, note="Another name for the enumerations of nki.isa."),
    "nki.language": Symbol("module"),
    "nki.meta": Symbol("module", since="2.28"),
    "nki.meta.tensor": Symbol("module", since="2.28"),
    "nki.tensor": Symbol("module", documented=False, note="The name of nki.meta.tensor in 2.27."),
    "nki.typing": Symbol("module", documented=False),
    "nki.jit": function("func=None, mode='auto', **kwargs"),
    "nki.dtype": Symbol("class", documented=False, note="For annotations."),
    "nki.typing.tensor": Symbol("class", documented=False, note="For annotations, which the front end ignores."),
    "nki.typing.mutable_tensor": Symbol(
        "class", documented=False, note="For annotations, which the front end ignores."
    ),
    "nki.typing.scalar": Symbol("class", documented=False, note="For isinstance() on a register."),
    "nki.meta.tensor.zeros": function("shape, dtype", documented=False),
    "nki.meta.tensor.arange": function("start, stop, step=1, dtype=nl.float32", documented=False),
    "nki.meta.tensor.identity": function("N, dtype=nl.float32", documented=False),
    **{
        f"nki.{name}": Symbol(
            "function", (), keywords=True, documented=False, unavailable="NotImplementedError in Beta 2."
        )
        for name in ("baremetal", "benchmark", "profile", "simulate_kernel")
    },
}

LANGUAGE: dict[str, Symbol] = {
    NL + "ndarray": function("shape, dtype, buffer=None, name='', +address=None, +address_rotation=None"),
    NL + "zeros": function("shape, dtype, buffer=None, name=''"),
    NL
    + "shared_constant": function(
        "t",
        note="The documentation shows (constant, dtype=None); the front end takes one argument: pass it by position.",
    ),
    NL + "shared_identity_matrix": function("n, dtype='uint8'"),
    NL + "affine_range": function("start, stop=None, step=1", roles=("range",)),
    NL + "sequential_range": function("start, stop, step", roles=("range",)),
    NL + "static_range": function("start, stop=None, step=1", roles=("range",)),
    NL + "dynamic_range": function("start, stop=None, step=1", roles=("range",), documented=False),
    NL + "range": function("start, stop=None, step=1", roles=("range",), documented=False),
    NL + "ds": function("start, size"),
    NL + "device_print": function("print_prefix, tensor, +output_buffer=None, !mask"),
    NL + "num_programs": function("axes=None"),
    NL + "program_id": function("axis"),
    NL + "program_ndim": function(""),
    NL + "no_reorder": function("", since="2.28", documented=False, note="Only as the context of a with statement."),
    NL + "unique_name": function("name", documented=False),
    NL + "par_dim": function("t", documented=False, note="Deprecated: returns its argument."),
    NL + "NKIObject": Symbol("class"),
    NL + "tile_size": Symbol("object"),
    **{f"{NL}tile_size.{name}": Symbol("attribute") for name in TILE_SIZE},
    **{NL + name: Symbol("dtype", since="2.28" if name == "float8_e4m3fn" else "2.27") for name in DTYPES},
    NL + "bool": Symbol("dtype", documented=False),
    **{NL + name: Symbol("buffer") for name in BUFFERS},
    **{NL + name: _token(name) for name in _TOKENS},
}

SYMBOLS: dict[str, Symbol] = {**NKI, **LANGUAGE}
"""NKI 0.2."""

TENSOR: dict[str, Symbol] = {
    "ap": function(
        "pattern, offset=0, scalar_offset=None, vector_offset=None, indirect_dim=0, dtype=None", documented=False
    ),
    "reshape": function("shape, dtype=None, name=None, address_rotation=None", documented=False),
    "view": function("dtype, shape, name=None, address_rotation=None", since="2.28", documented=False),
    **{
        name: Symbol("attribute", documented=False)
        for name in "shape dtype buffer name address address_name offset pattern".split()
    },
}
"""Methods and attributes of a tensor in a kernel."""

PYTHON_BUILTINS = frozenset(
    "abs bool dict divmod float int isinstance len list max min print range slice str tuple type".split()
)
"""Built-in functions of Python that the front end evaluates (``range`` only as the iterable of a ``for``)."""

PYTHON_CONSTANTS = frozenset("None True False Ellipsis NotImplemented __debug__ __name__".split())
MATH_FUNCTIONS = frozenset("ceil floor gcd log10 log2 pow sqrt".split())
"""Functions of ``math`` that the front end evaluates."""

LIBRARIES = frozenset("bisect collections copy functools heapq itertools operator".split())
"""Modules of Python's library of which a kernel can use nothing. (Their classes and functions are C, which the front
end cannot read, or Python that it refuses.)"""

LIBRARY_CLASSES = frozenset(
    f"{module}.{name}"
    for module, names in (
        ("collections", "ChainMap Counter OrderedDict UserDict UserList UserString"),
        ("functools", "cached_property partial partialmethod singledispatchmethod"),
    )
    for name in names.split()
)
"""Classes of :data:`LIBRARIES` in Python source: the front end reads them where a file imports them by name."""

LIST_METHODS = frozenset("append clear copy count extend index pop remove reverse".split())
DICT_METHODS = frozenset("clear copy get items keys pop setdefault values".split())
SCALAR_METHODS = ("ptr", "view")

REMOVED_03: frozenset[str] = frozenset(
    {NL + "par_dim", NL + "unique_name", "nki.compiler", "nki.tensor", "nki.simulate_kernel"}
    | {"nki.baremetal", "nki.benchmark", "nki.profile"}
)
"""Names of 0.2 that 0.3 does not have."""

_BINARY_03 = (
    "add bitwise_and bitwise_or bitwise_xor divide equal fmod greater greater_equal left_shift less less_equal "
    "logical_and "
    "logical_or logical_xor maximum minimum mod multiply not_equal power right_shift subtract"
)
_UNARY_03 = (
    "abs arctan ceil copy cos erf erf_dx exp floor gelu gelu_apprx_sigmoid gelu_apprx_sigmoid_dx gelu_apprx_tanh "
    "gelu_dx "
    "invert log logical_not mish negative reciprocal relu rsqrt sigmoid sign silu silu_dx sin softplus sqrt square "
    "tan tanh "
    "trunc"
)
_FUNCTIONS_03 = {
    "broadcast_to": "x, shape, dtype=None",
    "device_print": "print_prefix, tensor",
    "dropout": "x, rate, dtype=None",
    "dynamic_range": "start, stop=None, step=1",
    "empty_like": "x, dtype=None, buffer=None, name=''",
    "expand_dims": "x, axis",
    "full": "shape, fill_value, dtype, buffer=nl.sbuf, name=''",
    "gather_flattened": "data, indices, axis=0, dtype=None",
    "is_hbm": "buffer",
    "is_on_chip": "buffer",
    "is_psum": "buffer",
    "is_sbuf": "buffer",
    "load": "src, dtype=None",
    "load_transpose2d": "src, dtype=None",
    "matmul": "x, y, transpose_x=False",
    "ndarray": "shape, dtype, buffer=nl.sbuf, name='', address=None",
    "no_reorder": "",
    "num_programs": "axes=0",
    "ones": "shape, dtype, buffer=nl.sbuf, name=''",
    "program_id": "axis=0",
    "rand": "shape, dtype, buffer=nl.sbuf, name=''",
    "random_seed": "seed",
    "rms_norm": "x, w, axis, n, epsilon=1e-06, dtype=None, compute_dtype=None",
    "sequential_range": "start, stop=None, step=1",
    "shared_constant": "constant",
    "shared_identity_matrix": "n, dtype='uint8', dst=None",
    "softmax": "x, axis=-1, dtype=None",
    "store": "dst, value",
    "transpose": "x, dtype=None",
    "where": "condition, x, y, dtype=None",
    "zeros": "shape, dtype, buffer=nl.sbuf, name=''",
    "zeros_like": "x, dtype=None, buffer=None, name=''",
    "all": "x, axis, dtype=None",
    **dict.fromkeys("max mean min prod sum var".split(), _REDUCE),
    **dict.fromkeys(_BINARY_03.split(), _BINARY),
    **dict.fromkeys(_UNARY_03.split(), _UNARY),
}
_ITERATORS_03 = frozenset({"dynamic_range", "sequential_range"})

CHANGED_03: dict[str, Symbol] = {
    **{
        NL + name: function(signature, since="2.29", roles=("range",) if name in _ITERATORS_03 else _roles(name))
        for name, signature in _FUNCTIONS_03.items()
    },
    NL + "NkiTensor": Symbol("class", since="2.29"),
    NL + "MemoryRegion": Symbol("enum", since="2.29"),
    **{NL + f"MemoryRegion.{name}": Symbol("member", since="2.29", value=name) for name in BUFFERS if name != "hbm"},
    "nki.simulate": function("kernel", since="2.29"),
    "nki.typing.tensor": Symbol("class", since="2.29"),
}
