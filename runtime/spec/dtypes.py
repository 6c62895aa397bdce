"""Data types of NKI: sizes, spellings, and the Beta 1 promotion of two operands.

Source: ``reference/beta1.md`` sections 6.1 and 6.2 (the promotion table of the 2.26.1 documentation).
"""

from __future__ import annotations

from functools import cache

ITEMSIZE = {
    "bool_": 1,
    "int8": 1,
    "uint8": 1,
    "float8_e4m3": 1,
    "float8_e5m2": 1,
    "float8_e4m3fn": 1,
    "int16": 2,
    "uint16": 2,
    "float16": 2,
    "bfloat16": 2,
    "float4_e2m1fn_x4": 2,
    "int32": 4,
    "uint32": 4,
    "float32": 4,
    "tfloat32": 4,
    "float8_e4m3fn_x4": 4,
    "float8_e5m2_x4": 4,
}
"""Bytes of one element, by the name that the type has in ``nki.language``."""

LIMITS = {
    "float32": {"min": -3.4028234663852886e38, "max": 3.4028234663852886e38, "eps": 2.0**-23},
    "bfloat16": {"min": -3.3895313892515355e38, "max": 3.3895313892515355e38, "eps": 2.0**-7},
    "float16": {"min": -65504.0, "max": 65504.0, "eps": 2.0**-10},
    "float8_e4m3": {"min": -240.0, "max": 240.0, "eps": 2.0**-3},
    "float8_e5m2": {"min": -57344.0, "max": 57344.0, "eps": 2.0**-2},
}
"""Smallest and largest finite number of the floating point types, and the step from 1 to the next number."""

NUMPY_SPELLINGS = {
    "bool": "bool_",
    "bool_": "bool_",
    "int8": "int8",
    "uint8": "uint8",
    "int16": "int16",
    "uint16": "uint16",
    "float16": "float16",
    "half": "float16",
    "int32": "int32",
    "uint32": "uint32",
    "float32": "float32",
    "single": "float32",
}
"""``numpy.<key>`` written in a kernel is ``nl.<value>``."""

NUMPY_SCALARS = frozenset("""
    bool bool8 bool_ byte bytes0 bytes_ cdouble cfloat character clongdouble clongfloat complex128 complex256
    complex64 complex_ complexfloating csingle datetime64 double flexible float128 float16 float32 float64 float_
    floating generic half inexact int0 int16 int32 int64 int8 int_ intc integer intp long longcomplex longdouble
    longfloat longlong number object0 object_ record short signedinteger single singlecomplex str0 str_ string_
    timedelta64 ubyte uint uint0 uint16 uint32 uint64 uint8 uintc uintp ulong ulonglong unicode_ unsignedinteger
    ushort void void0
    """.split())
"""The classes of elements that some version of numpy has, as attributes of it."""

ML_DTYPES_SCALARS = frozenset("""
    bcomplex32 bfloat16 complex32 float4_e2m1fn float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3
    float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu int1 int2 int4 uint1
    uint2 uint4
    """.split())
"""The same of ml_dtypes."""

NUMPY_ALIASES = {
    "byte": "int8",
    "half": "float16",
    "intc": "int32",
    "short": "int16",
    "single": "float32",
    "ubyte": "uint8",
    "uintc": "uint32",
    "ushort": "uint16",
}
"""Names of numpy for classes that have another name, which kernels may use."""

_FLOAT_RANK = {
    "float8_e5m2": 0,
    "float8_e4m3": 0,
    "float8_e4m3fn": 0,
    "bfloat16": 1,
    "float16": 1,
    "tfloat32": 2,
    "float32": 3,
}
_INT_BITS = {
    "bool_": (8, False),
    "uint8": (8, False),
    "int8": (8, True),
    "uint16": (16, False),
    "int16": (16, True),
    "uint32": (32, False),
    "int32": (32, True),
}


@cache
def promote(a: str, b: str) -> str:
    """Result type of a Beta 1 binary operation on operands of types ``a`` and ``b``, in whichever order.

    A boolean beside another type is the uint8 that it is stored as. Source: "NKI Type Promotion" and "Supported Data
    Types", NKI API Common Fields of 2.26.1; ``reference/beta1.md`` 6.2. Int32 and uint32 give float32, "since int64
    isn't supported on the hardware"; so does a uint32 tile with a Python integer, which is an int32 there.
    """
    if a == b:
        return a
    a, b = (_STORED.get(side, side) for side in (a, b))
    a_float, b_float = a in _FLOAT_RANK, b in _FLOAT_RANK
    if a_float and b_float:
        if _FLOAT_RANK[a] == _FLOAT_RANK[b]:
            return "bfloat16" if _FLOAT_RANK[a] == 0 else "float32"
        return max(a, b, key=_FLOAT_RANK.__getitem__)
    if a_float or b_float:
        return a if a_float else b
    (bits_a, signed_a), (bits_b, signed_b) = _INT_BITS[a], _INT_BITS[b]
    if signed_a == signed_b:
        return a if bits_a >= bits_b else b
    signed_bits = bits_a if signed_a else bits_b
    unsigned_bits = bits_b if signed_a else bits_a
    bits = signed_bits if signed_bits > unsigned_bits else 2 * unsigned_bits
    return f"int{bits}" if bits <= 32 else "float32"


def promote_bits(a: str, b: str, weak: bool = False) -> str | None:
    """Result type of a bitwise operation; ``None`` where the documents name none.

    "For bitvec operators, the input/output data types must be integer types" (``nisa.tensor_tensor`` and
    ``nisa.tensor_scalar``, 2.26.1), so the float32 of int32 and uint32 cannot be. A ``weak`` operand ``b``, which is an
    immediate, leaves a tile of uint32 as it is: all its bits are there. Of two tiles the type is not known.
    """
    found = promote(a, b)
    if found in _INT_BITS:
        return found
    return a if weak and a in _INT_BITS and b in _INT_BITS else None


_STORED = {"bool_": "uint8"}


def weak_type(scalar: type) -> str:
    """Type that a bare Python scalar of the type ``scalar`` takes before it is promoted with a tile."""
    if issubclass(scalar, bool):
        return "uint8"
    return "int32" if issubclass(scalar, int) else "float32"


DOUBLE_FP8 = ("float8_e4m3", "float8_e5m2")
"""What TensorE multiplies in pairs (``double_row``: "Double FP8 mode", NKI API, ``nki.isa.matmul_perf_mode``)."""
