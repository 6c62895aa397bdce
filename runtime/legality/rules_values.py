"""Python's values where the front end has others: numbers, truth, slices of lists.

The static checks see what the source tells; the emulator's front end (``runtime/beta2/python_values.py``) refuses with
the same codes what only the values tell. Source: ``KLR/Trace/Term.lean`` (operators, comparisons, subscripts),
``Types.lean`` (truth), ``Python.lean`` (functions).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .containers import container_kind, container_names
from .model import RuleDoc, Violation, kernel
from .walk import Context, document, on, report

NUMBER_COMPARISON = document(
    RuleDoc(
        "NKL100",
        "number-comparison",
        "numbers of different types are never equal: {} and {}",
        "The front end compares a bool, an int and a float by their type first: 1 == 1.0 is False there, and 1 > 1.0 "
        "is True.",
        "Convert one of them: float(a) == b.",
        bad=kernel("return 1 == 1.0"),
        good=kernel("return float(1) == 1.0"),
        stage="ours",
    )
)
EMPTY_DICTIONARY = document(
    RuleDoc(
        "NKL101",
        "empty-dictionary",
        "a dictionary is true, even when it is empty",
        "The front end looks at the kind of the value only.",
        "Compare len(d) with 0.",
        bad=kernel("return not {}"),
        good=kernel("sizes = {}\nreturn len(sizes) == 0"),
        stage="ours",
    )
)
BOOLEAN_ARITHMETIC = document(
    RuleDoc(
        "NKL102",
        "boolean-arithmetic",
        "unimplemented operator '{}'",
        "A bool computes with an int, not with another bool and not with a float; it cannot be negated.",
        "Convert it with int(...), or write and, or, not.",
        bad=kernel("return True + True"),
        good=kernel("return int(True) + int(True)"),
    )
)
SLICE_BOUNDS = document(
    RuleDoc(
        "NKL103",
        "sequence-slice",
        "slice index out of bounds",
        "Slices of lists and tuples are not clipped to the length, and go forwards.",
        "Clamp the bounds with min(..., len(rows)).",
        bad=kernel("return [1, 2][0:4]"),
        good=kernel("return [1, 2][0:2]"),
    )
)
BIT_OPERATION = document(
    RuleDoc(
        "NKL104",
        "bit-operation",
        "{} works on 64 bits without a sign",
        "The front end converts the operands of << >> | & ^ to 64-bit numbers without a sign: -8 >> 1 is a large "
        "number there, and a shift by 64 shifts by 0.",
        "Use numbers that are not negative, or // and * with powers of two.",
        bad=kernel("return -8 >> 1"),
        good=kernel("return 8 >> 1"),
        stage="ours",
    )
)
BOOLEAN_INSTANCE = document(
    RuleDoc(
        "NKL105",
        "isinstance-of-subclass",
        "isinstance is for the exact type: {} is no {}",
        "The front end knows no subclasses: isinstance(True, int) is False, and so is the test against a base class.",
        "Test for each class that can occur.",
        bad=kernel("return isinstance(True, int)"),
        good=kernel("return isinstance(True, bool)"),
        stage="ours",
    )
)
STRING_LENGTH = document(
    RuleDoc(
        "NKL106",
        "string-length",
        "expected a list of a dictionary; found {}",
        "len is for lists, tuples and dictionaries.",
        "Keep the parts in a list, or the length in a variable.",
        bad=kernel('return len("pf")'),
        good=kernel('return len(["p", "f"])'),
    )
)
NEGATIVE_STORE = document(
    RuleDoc(
        "NKL107",
        "negative-index-assigned",
        "expecting positive 'integer', got 'int'",
        "An element of a list is assigned by its index from the front; from the end it can be read only.",
        "Write rows[len(rows) - 1] = ...",
        bad=kernel("rows = [1, 2]\nrows[-1] = 3"),
        good=kernel("rows = [1, 2]\nrows[len(rows) - 1] = 3"),
    )
)

BIT_OPERATORS: dict[type[ast.operator], str] = {
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitOr: "|",
    ast.BitAnd: "&",
    ast.BitXor: "^",
}
OPERATOR_NAMES = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "div",
    "//": "floor",
    "%": "mod",
    "**": "pow",
    "<<": "lshift",
    ">>": "rshift",
    "|": "or",
    "&": "and",
    "^": "xor",
}
"""What the front end calls the operators in its messages."""
OPERATOR_SYMBOLS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    **BIT_OPERATORS,
}
_NUMBERS = (bool, int, float)


def bits_as_the_front_end_has_them(symbol: str, left: int, right: int) -> int:
    """The result of a bit operation on 64 bits without a sign."""
    mask = 2**64 - 1
    a, b = left & mask, right & mask
    results = {"|": a | b, "&": a & b, "^": a ^ b, "<<": (a << b % 64) & mask, ">>": a >> b % 64}
    return results[symbol]


def _number(node: ast.expr) -> bool | int | float | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _number(node.operand)
        return -value if type(value) in (int, float) and value is not None else None
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, _NUMBERS) else None


@on(ast.Compare, evaluated=True)
def number_comparison(node: ast.Compare, context: Context) -> Iterator[Violation]:
    sides = [node.left, *node.comparators]
    for left, operator, right in zip(sides, node.ops, sides[1:], strict=False):
        a, b = _number(left), _number(right)
        if a is None or b is None or type(a) is type(b) or a != b:
            continue
        if isinstance(operator, (ast.Eq, ast.NotEq, ast.LtE, ast.Gt)):
            yield report(NUMBER_COMPARISON, node, a, b)


@on(ast.If, ast.While, ast.IfExp, ast.Assert, ast.UnaryOp, ast.BoolOp, evaluated=True)
def empty_dictionary(
    node: ast.If | ast.While | ast.IfExp | ast.Assert | ast.UnaryOp | ast.BoolOp, context: Context
) -> Iterator[Violation]:
    if isinstance(node, ast.BoolOp):
        tested = node.values[:-1]
    elif isinstance(node, ast.UnaryOp):
        tested = [node.operand] if isinstance(node.op, ast.Not) else []
    else:
        tested = [node.test]
    for test in tested:
        if isinstance(test, ast.Dict) and not test.keys:
            yield report(EMPTY_DICTIONARY, test)


@on(ast.BinOp, evaluated=True)
def number_arithmetic(node: ast.BinOp, context: Context) -> Iterator[Violation]:
    left, right = _number(node.left), _number(node.right)
    if left is None or right is None or isinstance(node.op, ast.MatMult):
        return
    kinds = {type(left), type(right)}
    symbol = OPERATOR_SYMBOLS[type(node.op)]
    if kinds in ({bool}, {bool, float}):
        yield report(BOOLEAN_ARITHMETIC, node, OPERATOR_NAMES[symbol])
    elif type(node.op) in BIT_OPERATORS and float not in kinds:
        a, b = int(left), int(right)
        if min(a, b) < 0 or (isinstance(node.op, (ast.LShift, ast.RShift)) and b >= 64):
            yield report(BIT_OPERATION, node, symbol)


@on(ast.UnaryOp, evaluated=True)
def negated_bool(node: ast.UnaryOp, context: Context) -> Iterator[Violation]:
    is_bool = isinstance(node.operand, ast.Constant) and isinstance(node.operand.value, bool)
    if isinstance(node.op, ast.USub) and is_bool:
        yield report(BOOLEAN_ARITHMETIC, node, message="cannot negate values of this type")


@on(ast.Subscript, evaluated=True)
def slice_bounds(node: ast.Subscript, context: Context) -> Iterator[Violation]:
    if not isinstance(node.value, (ast.List, ast.Tuple)) or not isinstance(node.slice, ast.Slice):
        return
    length, step = len(node.value.elts), None if node.slice.step is None else _number(node.slice.step)
    bounds = [_number(bound) for bound in (node.slice.lower, node.slice.upper) if bound is not None]
    if any(isinstance(bound, int) and not -length <= bound <= length for bound in bounds):
        yield report(SLICE_BOUNDS, node)
    elif isinstance(step, int) and step <= 0:
        yield report(SLICE_BOUNDS, node, message="slice step cannot be zero or negative")


@on(ast.Call, evaluated=True)
def instance_of_bool(node: ast.Call, context: Context) -> Iterator[Violation]:
    if not (isinstance(node.func, ast.Name) and node.func.id == "isinstance" and len(node.args) == 2):
        return
    value, kind = node.args
    is_bool = isinstance(value, ast.Constant) and isinstance(value.value, bool)
    if is_bool and isinstance(kind, ast.Name) and kind.id == "int":
        yield report(BOOLEAN_INSTANCE, node, "bool", "int")


@on(ast.Call, evaluated=True)
def string_length(node: ast.Call, context: Context) -> Iterator[Violation]:
    is_len = isinstance(node.func, ast.Name) and node.func.id == "len" and len(node.args) == 1
    if is_len and _kind(node.args[0], context) == "string":
        yield report(STRING_LENGTH, node, "string")


@on(ast.Subscript, evaluated=True)
def negative_store(node: ast.Subscript, context: Context) -> Iterator[Violation]:
    index = _number(node.slice)
    if isinstance(node.ctx, ast.Store) and type(index) is int and index < 0 and _kind(node.value, context) == "list":
        yield report(NEGATIVE_STORE, node)


def _kind(node: ast.expr, context: Context) -> str:
    function = context.function
    return container_kind(node, context.module.remembered(container_names, function)) if function is not None else ""
