"""Expressions that the front end does not have."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..spec.versions import LATER
from .model import RuleDoc, Violation, kernel
from .walk import Context, document, on, report

UNSUPPORTED = "unsupported expression"
INT_MAX = 2**31 - 1

LAMBDA = document(
    RuleDoc(
        "NKL030",
        "lambda",
        UNSUPPORTED,
        "The front end has no anonymous functions.",
        "Write a function at the module level.",
        bad=kernel("f = lambda i: i + 1\nreturn f(1)"),
        good="def f(i):\n    return i + 1\n\n\n" + kernel("return f(1)"),
        stage="gather",
    )
)
COMPREHENSION = document(
    RuleDoc(
        "NKL031",
        "comprehension",
        UNSUPPORTED,
        "The front end has no comprehensions and no generator expressions.",
        "Write a loop that appends to a list.",
        bad=kernel("rows = [i * 2 for i in range(4)]"),
        good=kernel("rows = []\nfor i in range(4):\n    rows.append(i * 2)"),
        stage="gather",
    )
)
WALRUS = document(
    RuleDoc(
        "NKL032",
        "assignment-expression",
        UNSUPPORTED,
        "Only statements assign.",
        "Assign in a statement of its own, before the expression.",
        bad=kernel("if (n := x.shape[0]) > 1:\n    return n"),
        good=kernel("n = x.shape[0]\nif n > 1:\n    return n"),
        stage="gather",
    )
)
SET = document(
    RuleDoc(
        "NKL033",
        "set",
        UNSUPPORTED,
        "The front end has no sets.",
        "Write a tuple or a list; `in` works on both.",
        bad=kernel("return y in {1, 2}"),
        good=kernel("return y in (1, 2)"),
        stage="gather",
    )
)
YIELD = document(
    RuleDoc(
        "NKL034",
        "yield",
        UNSUPPORTED,
        "The front end has no generators and no coroutines.",
        "Collect the values in a list and return it.",
        bad=kernel("yield x"),
        good=kernel("rows = []\nrows.append(x)\nreturn rows"),
        stage="gather",
    )
)
STARRED = document(
    RuleDoc(
        "NKL036",
        "starred",
        "tuple expansion is not supported",
        "The number of arguments and of elements must be visible in the source.",
        "Write the elements out.",
        bad="def f(a, b):\n    return a + b\n\n\n" + kernel("pair = (1, 2)\nreturn f(*pair)"),
        good="def f(a, b):\n    return a + b\n\n\n" + kernel("pair = (1, 2)\nreturn f(pair[0], pair[1])"),
        stage="simplify",
    )
)
DOUBLE_STARRED = document(
    RuleDoc(
        "NKL037",
        "keyword-expansion",
        "keyword expansion is not supported",
        "The names of arguments must be visible in the source.",
        "Write the keywords out.",
        bad="def f(a, b):\n    return a + b\n\n\n" + kernel('return f(**{"a": 1, "b": 2})'),
        good="def f(a, b):\n    return a + b\n\n\n" + kernel("return f(a=1, b=2)"),
        stage="simplify",
    )
)
FORMAT = document(
    RuleDoc(
        "NKL038",
        "format-specifier",
        "NKI does no support format specifiers",
        "An f-string may hold values, not the way to print them.",
        "Drop the part after the colon.",
        bad=kernel('assert y == 1, f"{y:.3f}"'),
        good=kernel('assert y == 1, f"{y}"'),
        stage="gather",
    )
)
DICT_KEY = document(
    RuleDoc(
        "NKL040",
        "dictionary-key",
        "expecting string",
        "The keys of a dictionary are literal strings: numbers, names, tuples and enumeration members are refused.",
        "Use strings, or lists of pairs, or if and elif.",
        bad=kernel("sizes = {1: 128, 2: 64}\nreturn sizes"),
        good=kernel('sizes = {"one": 128, "two": 64}\nreturn sizes'),
        stage="simplify",
    )
)
MATMUL = document(
    RuleDoc(
        "NKL041",
        "matmul-operator",
        "the matmul operator is not supported in NKI",
        "Matrix products are written as instructions.",
        "Call nki.isa.nc_matmul(dst=..., stationary=..., moving=...).",
        bad=kernel("return x @ y"),
        good=kernel(
            "out = nl.ndarray((128, 512), nl.float32, buffer=nl.psum)\nnisa.nc_matmul(dst=out, stationary=x, "
            "moving=y)"
        ),
        stage="simplify",
    )
)
IS = document(
    RuleDoc(
        "NKL042",
        "is",
        "the '{}' operator is not supported in NKI, use {}",
        "Values have no identity in a kernel. NKI 0.2 warns and compares for equality, NKI 0.3 refuses. `is None` is "
        "another thing: both read it as == None.",
        "Write == or !=.",
        bad=kernel("return x.dtype is nl.float32"),
        good=kernel("return x.dtype == nl.float32"),
        stage="simplify",
        span=LATER,
    )
)
CHAINED_IN = document(
    RuleDoc(
        "NKL043",
        "chained-in",
        "the 'in' operator is not supported in NKI",
        "`in` stands alone: in a chain of comparisons the front end does not know it.",
        "Split the chain with `and`.",
        bad=kernel("return 0 < y in (1, 2)"),
        good=kernel("return 0 < y and y in (1, 2)"),
        stage="simplify",
    )
)
ELLIPSIS = document(
    RuleDoc(
        "NKL044",
        "ellipsis",
        "invalid use of ellipsis",
        "`...` stands in subscripts only.",
        "Write pass for an empty body, None for a missing value.",
        bad="def f():\n    ...\n\n\n" + kernel("f()"),
        good="def f():\n    pass\n\n\n" + kernel("f()"),
        stage="simplify",
    )
)
INTEGER = document(
    RuleDoc(
        "NKL045",
        "large-integer",
        "integer value ({}) is too large",
        "Integer literals are 32 bits wide, with a sign.",
        "Write a float, or compute the number from smaller ones.",
        bad=kernel("return 4294967296"),
        good=kernel("return 65536 * 65536"),
        stage="gather",
    )
)
CONSTANT = document(
    RuleDoc(
        "NKL046",
        "lost-constant",
        "{} constants are not supported: the front end reads None",
        "The front end knows bool, int, float, str, None and `...`. It turns any other constant into None without a "
        "word.",
        "Do not use bytes and complex numbers in kernels.",
        bad=kernel('return b"x"'),
        good=kernel('return "x"'),
        stage="ours",
    )
)
STRING_METHOD = document(
    RuleDoc(
        "NKL047",
        "string-method",
        "unsupported attribute {}",
        "Strings have no methods in a kernel. They can be joined with +, compared, and formatted by f-strings.",
        "Write an f-string.",
        bad=kernel('return "{}".format(y)'),
        good=kernel('return f"{y}"'),
    )
)

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@on(ast.Lambda, ast.NamedExpr, ast.Set, ast.Yield, ast.YieldFrom, ast.Await, *_COMPREHENSIONS)
def unsupported_expression(node: ast.AST, context: Context) -> Iterator[Violation]:
    docs = {ast.Lambda: LAMBDA, ast.NamedExpr: WALRUS, ast.Set: SET, **dict.fromkeys(_COMPREHENSIONS, COMPREHENSION)}
    yield report(docs.get(type(node), YIELD), node)


@on(ast.Starred)
def starred(node: ast.Starred, context: Context) -> Iterator[Violation]:
    yield report(STARRED, node)


@on(ast.Call)
def keyword_expansion(node: ast.Call, context: Context) -> Iterator[Violation]:
    for keyword in node.keywords:
        if keyword.arg is None:
            yield report(DOUBLE_STARRED, keyword.value)


@on(ast.FormattedValue)
def format_specifier(node: ast.FormattedValue, context: Context) -> Iterator[Violation]:
    if node.format_spec is not None:
        yield report(FORMAT, node)


@on(ast.Dict)
def dictionary_keys(node: ast.Dict, context: Context) -> Iterator[Violation]:
    for key, value in zip(node.keys, node.values, strict=True):
        if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
            yield report(DICT_KEY, key or value)


@on(ast.BinOp, ast.AugAssign)
def matmul_operator(node: ast.BinOp | ast.AugAssign, context: Context) -> Iterator[Violation]:
    if isinstance(node.op, ast.MatMult):
        yield report(MATMUL, node)


@on(ast.Compare, span=LATER)
def identity(node: ast.Compare, context: Context) -> Iterator[Violation]:
    for operator, right in zip(node.ops, node.comparators, strict=True):
        is_none = len(node.ops) == 1 and isinstance(right, ast.Constant) and right.value is None
        if isinstance(operator, (ast.Is, ast.IsNot)) and not is_none:
            yield report(IS, node, *(("is", "==") if isinstance(operator, ast.Is) else ("is not", "!=")))


@on(ast.Compare)
def chained_in(node: ast.Compare, context: Context) -> Iterator[Violation]:
    if len(node.ops) > 1 and any(isinstance(operator, (ast.In, ast.NotIn)) for operator in node.ops):
        yield report(CHAINED_IN, node)


@on(ast.Constant)
def constants(node: ast.Constant, context: Context) -> Iterator[Violation]:
    value = node.value
    if value is Ellipsis:
        if not _in_subscript(node, context):
            yield report(ELLIPSIS, node)
    elif isinstance(value, (bytes, complex)):
        yield report(CONSTANT, node, type(value).__name__)
    elif isinstance(value, int) and not isinstance(value, bool) and value > INT_MAX:
        yield report(INTEGER, node, min(value, 2**63 - 1))


def _in_subscript(node: ast.Constant, context: Context) -> bool:
    """Is ``node`` an index, alone or in a tuple or list of indices?"""
    child: ast.AST = node
    for above in reversed(context.ancestors):
        if isinstance(above, ast.Subscript):
            return above.slice is child
        if not isinstance(above, (ast.Tuple, ast.List)):
            return False
        child = above
    return False


@on(ast.Attribute, evaluated=True)
def string_method(node: ast.Attribute, context: Context) -> Iterator[Violation]:
    value = node.value
    if isinstance(value, ast.JoinedStr) or (isinstance(value, ast.Constant) and isinstance(value.value, str)):
        yield report(STRING_METHOD, node, node.attr)
