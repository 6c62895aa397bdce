"""NKV006 memset-literals: what fills an integer tensor is an integer literal.

Why: 0.2 cast the value to the tensor's type, 0.3 refuses a float for an integer tensor.

Safe: ``2.0`` becomes ``2``, and ``0.0`` becomes ``0`` where the type is not known, because all types take it. Left: a
literal with a fraction, because 0.2's cast of it is not documented.
"""

from __future__ import annotations

import ast
from math import copysign

from ..answers import Answer, Left, Rewritten, Said, Unknown, unknown
from ..facts import Facts
from ..statements import root_name

CODE = "NKV006"
GOLDENS = ("ladder_literals",)
NODES = (ast.Call,)
CALLS = frozenset({"nki.isa.memset"})
INTEGERS = frozenset("int8 int16 int32 uint8 uint16 uint32 bool_ bool".split())


def rewrite(facts: Facts, node: ast.Call) -> Answer:
    """Write the literal as an integer."""
    if facts.called(node) != "nki.isa.memset":
        return None
    given = facts.arguments(node)
    if not {"dst", "value"} <= given.keys():
        return None
    value, dtype = given["value"], facts.tensor(given["dst"]).dtype
    number = _literal(value)
    if dtype.endswith("_x4") and number:
        return Left(f"memset fills {dtype} with 0 only", "load the data from HBM, as an argument of the kernel")
    is_integer = dtype in INTEGERS or dtype.endswith("_x4") or (not dtype and _is_zero(number))
    if (not dtype and not is_integer) or (is_integer and number is None):
        return _unknown(facts, given["dst"], value, number)
    return _written(facts, node, value, number, dtype) if isinstance(number, float) and is_integer else None


def _written(facts: Facts, node: ast.Call, value: ast.expr, number: float, dtype: str) -> Answer:
    """The integer in place of the float; where the type is not known, that shows nothing of the version."""
    kind = dtype or "integers"
    if not number.is_integer():
        return Left(f"memset fills {kind} with an integer, not with {number}", "write the integer that is meant")
    text = facts.text_of(node)
    argument = next((item for item in text.arguments if item.value is value), None) if text is not None else None
    edit = text.value_replaced(argument, str(int(number))) if text is not None and argument is not None else None
    if edit is None:
        return Left(f"memset fills {kind} with an integer", "write an integer literal")
    return Rewritten((edit,), shows=bool(dtype))


def _is_zero(number: int | float | None) -> bool:
    """Is a literal zero, and no negative one, which floats tell apart?"""
    return number is not None and not number and copysign(1, number) > 0


def _unknown(facts: Facts, dst: ast.expr, value: ast.expr, number: int | float | None) -> Unknown | None:
    """What is taken for true where the type of the tensor, or the value, is not known."""
    name, dtype = root_name(dst), facts.tensor(dst).dtype
    why = f"memset of NKI {facts.new} fills integers with an integer, and packed types with 0"
    if dtype:
        is_whole = facts.tensors.index_kind(facts.path, facts.rung, value) == "integer" and not dtype.endswith("_x4")
        text = f"'{ast.unparse(value)}' is {'0' if dtype.endswith('_x4') else 'an integer'}"
        return None if is_whole else Unknown(text, why, "write the integer that is meant")
    kind = "packed numbers" if isinstance(number, int) else "integers"
    said = Said((f"'{name}'",), f"{{}} holds no {kind}", f"{{}} hold no {kind}")
    return unknown(said, why, "write an integer for integers, and 0 for packed types")


def _literal(node: ast.expr) -> int | float | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _literal(node.operand)
        return -inner if inner is not None else None
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
