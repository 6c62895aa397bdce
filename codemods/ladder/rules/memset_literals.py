"""NKV006 memset-literals: what fills an integer tensor is an integer literal.

Why: 0.2 cast the value to the tensor's type, 0.3 refuses a float for an integer tensor.

Safe: ``2.0`` becomes ``2``. Left: a literal with a fraction, because 0.2's cast of it is not documented.
"""

from __future__ import annotations

import ast

from ..answers import Answer, Left, Unknown, rewritten
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
    is_integer = dtype in INTEGERS or dtype.endswith("_x4")
    if not dtype or (is_integer and number is None):
        return _unknown(facts, given["dst"], value, number)
    if not isinstance(number, float) or not is_integer:
        return None
    if not number.is_integer():
        return Left(f"memset fills {dtype} with an integer, not with {number}", "write the integer that is meant")
    text = facts.text_of(node)
    argument = next((item for item in text.arguments if item.value is value), None) if text is not None else None
    if text is None or argument is None:
        return Left(f"memset fills {dtype} with an integer", "write an integer literal")
    return rewritten(text.value_replaced(argument, str(int(number))))


def _unknown(facts: Facts, dst: ast.expr, value: ast.expr, number: int | float | None) -> Unknown | None:
    """What is taken for true where the type of the tensor, or the value, is not known."""
    if number == 0 and isinstance(number, int):
        return None  # of any type
    name, dtype = root_name(dst), facts.tensor(dst).dtype
    why = f"memset of NKI {facts.new} fills integers with an integer, and packed types with 0"
    if dtype:
        is_whole = facts.tensors.index_kind(facts.path, facts.rung, value) == "integer" and not dtype.endswith("_x4")
        text = f"'{ast.unparse(value)}' is {'0' if dtype.endswith('_x4') else 'an integer'}"
        return None if is_whole else Unknown(text, why, "write the integer that is meant")
    text = f"'{name}' holds no packed numbers" if isinstance(number, int) else f"'{name}' holds no integers"
    return Unknown(text, why, "write an integer for integers, and 0 for packed types")


def _literal(node: ast.expr) -> int | float | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _literal(node.operand)
        return -inner if inner is not None else None
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
