"""Python that the front end takes and computes otherwise, and loops on the device where they cannot be.

Source: ``KLR/NKI/Patterns.lean`` (unpacking), ``KLR/Trace/Term.lean`` (arithmetic), ``KLR/Trace/NKI.lean`` (default
values, loops), ``KLR/Trace/Types.lean`` (``beginBlock``).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .model import RuleDoc, Violation, kernel
from .names import Function
from .rules_statements import is_dynamic
from .walk import Context, document, on, report

NESTED_UNPACKING = document(
    RuleDoc(
        "NKL027",
        "nested-unpacking",
        "index must be an integer or slice, got {}",
        "The front end takes a nested tuple on the left apart with one subscript of several indices, which no tuple "
        "and no list has.",
        "Unpack one level at a time.",
        bad=kernel("pair = (1, (2, 3))\na, (b, c) = pair"),
        good=kernel("pair = (1, (2, 3))\na, rest = pair\nb, c = rest"),
    )
)
MUTABLE_DEFAULT = document(
    RuleDoc(
        "NKL028",
        "mutable-default",
        "the default of '{}' is made anew by every call",
        "Python makes default values once, when it reads the function, and keeps what a call changed in them. The "
        "front end evaluates them when the function is called.",
        "Make None the default, and the list or dictionary in the body; or pass it.",
        bad="def f(row, rows=[]):\n    rows.append(row)\n    return rows\n\n\n" + kernel("return f(1)"),
        good="def f(row, rows):\n    rows.append(row)\n    return rows\n\n\n" + kernel("return f(1, [])"),
        stage="ours",
    )
)
NO_REORDER = document(
    RuleDoc(
        "NKL029",
        "dynamic-in-no-reorder",
        "Dynamic control-flow cannot be nested with a no_reorder block",
        "The block is one piece to the scheduler; a loop on the device would cut it.",
        "Put the no_reorder block into the body of the loop.",
        bad=kernel("with nl.no_reorder():\n    for i in nl.dynamic_range(0, 4, 1):\n        pass"),
        good=kernel("for i in nl.dynamic_range(0, 4, 1):\n    with nl.no_reorder():\n        pass"),
    )
)
NEGATIVE_DIVISOR = document(
    RuleDoc(
        "NKL048",
        "negative-divisor",
        "{} by a negative number rounds another way than in Python",
        "The front end divides integers so that the remainder is never negative: 7 // -2 is -3 there, 7 % -2 is 1.",
        "Divide by the positive number and change the sign.",
        bad=kernel("return y // -2"),
        good=kernel("return -(y // 2)"),
        stage="ours",
    )
)
INTEGER_POWER = document(
    RuleDoc(
        "NKL049",
        "negative-power",
        "an integer to a negative power is 1",
        "The front end takes a negative exponent of an integer for 0.",
        "Write 1 / base ** exponent, or a float base.",
        bad=kernel("return 2 ** -1"),
        good=kernel("return 2.0 ** -1"),
        stage="ours",
    )
)
FLOAT_MODULO = document(
    RuleDoc(
        "NKL039",
        "float-modulo",
        "floating point numbers do not support operator 'KLR.NKI.BinOp.mod'",
        "The remainder is for integers.",
        "Compute it: x - y * math.floor(x / y).",
        bad=kernel("return y % 1.5"),
        good=kernel("return y % 2"),
    )
)

CHANGING_METHODS = frozenset("append clear extend insert pop remove reverse setdefault update".split())


@on(ast.Assign)
def nested_unpacking(node: ast.Assign, context: Context) -> Iterator[Violation]:
    for target in node.targets:
        for first, element in enumerate(target.elts) if isinstance(target, ast.Tuple) else ():
            if isinstance(element, ast.Tuple) and element.elts:
                path = [first]
                while isinstance(element, ast.Tuple):
                    path.append(0)
                    element = element.elts[0]
                terms = ", ".join(f"KLR.Trace.Term.int {index}" for index in path)
                yield report(NESTED_UNPACKING, target, f"[{terms}]")


@on(ast.FunctionDef)
def mutable_default(node: ast.FunctionDef, context: Context) -> Iterator[Violation]:
    """A list or dictionary as a default, and the body changes it."""
    if node is not context.function:
        return
    plain = [*node.args.posonlyargs, *node.args.args]
    pairs = list(zip(plain[len(plain) - len(node.args.defaults) :], node.args.defaults, strict=True))
    pairs += [
        (arg, default) for arg, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if default
    ]
    for parameter, default in pairs:
        if isinstance(default, (ast.List, ast.Dict)) and parameter.arg in _changed(node, context):
            yield report(MUTABLE_DEFAULT, default, parameter.arg)


def _changed(function: Function, context: Context) -> set[str]:
    """Names whose value the function changes in place."""
    changed = set()
    for node in context.module.own_nodes(function):
        target: ast.expr | None = None
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            target = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGING_METHODS:
            target = node.func.value
        if isinstance(target, ast.Name):
            changed.add(target.id)
    return changed


@on(ast.For, ast.While)
def dynamic_in_no_reorder(node: ast.For | ast.While, context: Context) -> Iterator[Violation]:
    if any(isinstance(above, ast.With) for above in context.ancestors) and is_dynamic(node, context):
        yield report(NO_REORDER, node)


@on(ast.BinOp, ast.AugAssign, evaluated=True)
def arithmetic(node: ast.BinOp | ast.AugAssign, context: Context) -> Iterator[Violation]:
    left, right = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
    divisor = _number(right)
    if isinstance(node.op, (ast.FloorDiv, ast.Mod)) and isinstance(divisor, int) and divisor < 0:
        yield report(NEGATIVE_DIVISOR, node, "//" if isinstance(node.op, ast.FloorDiv) else "%")
    elif isinstance(node.op, ast.Mod) and float in (type(divisor), type(_number(left))):
        yield report(FLOAT_MODULO, node)
    elif isinstance(node.op, ast.Pow) and type(divisor) is int and divisor < 0 and type(_number(left)) is int:
        yield report(INTEGER_POWER, node)


def _number(node: ast.expr) -> object:
    """The value of a number with or without a sign; ``None`` for anything else."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _number(node.operand)
        return -value if isinstance(value, (int, float)) else None
    return node.value if isinstance(node, ast.Constant) and type(node.value) in (int, float) else None
