"""Lists, dictionaries and strings: what a kernel can do with them, and which of Python's functions it can call how.

Source: ``KLR/Trace/Python.lean`` (methods and functions), ``Term.lean`` (attributes, subscripts, operators).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..spec import beta2
from .containers import container_kind, container_names
from .model import RuleDoc, Violation, kernel
from .names import Function
from .rules_calls import KEYWORD, SURPLUS, argument_problems, expands
from .rules_operands import KINDS
from .walk import Context, document, on, report

METHODS = {
    "list": {
        "append": "t, x",
        "clear": "t",
        "copy": "t",
        "count": "t",
        "extend": "t, x",
        "index": "t, value, start=0, stop=0",
        "pop": "t",
        "remove": "t, v",
        "reverse": "t",
    },
    "dict": {
        "clear": "t",
        "copy": "t",
        "get": "t, key, dflt=None",
        "items": "t",
        "keys": "t",
        "pop": "t, key, dflt=None",
        "setdefault": "t, key, default=None",
        "values": "t",
    },
}
"""Methods with the front end's parameters; the object itself is the first one."""

FUNCTIONS = {
    "builtins": {
        **dict.fromkeys(("abs", "bool", "float", "int", "len", "list", "str", "tuple", "type"), "t"),
        "dict": "t=None",
        "divmod": "x, y",
        "isinstance": "t, ty",
    },
    "math": {**dict.fromkeys(("ceil", "floor", "log10", "log2", "sqrt"), "x"), "gcd": "x, y", "pow": "x, y"},
}
"""Functions of Python with the front end's parameters. ``min``, ``max``, ``print`` and ``slice`` take any number."""

METHOD = document(
    RuleDoc(
        "NKL090",
        "container-method",
        "{} is not an attribute of {}",
        "Lists have append clear copy extend index pop remove reverse, dictionaries clear copy get items keys pop "
        "setdefault values. A list cannot be sorted.",
        "Write the loop, or build the list in the order that it needs.",
        bad=kernel("rows = [2, 1]\nrows.insert(0, 3)"),
        good=kernel("rows = [3] + [2, 1]"),
    )
)
DICT_LOOP = document(
    RuleDoc(
        "NKL091",
        "dictionary-iteration",
        "not an iterable object",
        "A for loop goes over ranges, lists and tuples. Dictionaries and strings have no elements to loop over.",
        "Loop over keys(), values() or items().",
        bad=kernel('sizes = {"a": 1}\nfor name in sizes:\n    pass'),
        good=kernel('sizes = {"a": 1}\nfor name in sizes.keys():\n    pass'),
    )
)
DICT_IN = document(
    RuleDoc(
        "NKL092",
        "dictionary-membership",
        "in operator not support on types {{kindStr t}} and {{kindStr l}}",
        "`in` works on lists, tuples and strings.",
        "Write `in d.keys()`, or compare d.get(key) with None.",
        bad=kernel('sizes = {"a": 1}\nreturn "a" in sizes'),
        good=kernel('sizes = {"a": 1}\nreturn "a" in sizes.keys()'),
    )
)
DICT_SUBSCRIPT = document(
    RuleDoc(
        "NKL093",
        "dictionary-subscript",
        "expecting 'string', got '{}'",
        "The keys of a dictionary are strings.",
        "Use a string as the key.",
        bad=kernel('sizes = {"a": 1}\nsizes[1] = 2'),
        good=kernel('sizes = {"a": 1}\nsizes["1"] = 2'),
    )
)
STRING_SUBSCRIPT = document(
    RuleDoc(
        "NKL094",
        "string-subscript",
        "string subscript not implemented",
        "Strings are opaque in a kernel.",
        "Keep the parts in a list or a tuple.",
        bad=kernel('axes = "pf"\nreturn axes[0]'),
        good=kernel('axes = ("p", "f")\nreturn axes[0]'),
    )
)
STRING_OPERATOR = document(
    RuleDoc(
        "NKL095",
        "string-operator",
        "unimplemented operator '{}'",
        "Strings can be joined with + and nothing else.",
        "Write an f-string.",
        bad=kernel('assert y > 0, "%d rows" % y'),
        good=kernel('assert y > 0, f"{y} rows"'),
    )
)
MIN_MAX = document(
    RuleDoc(
        "NKL096",
        "min-max-arguments",
        "invalid arguments",
        "min and max take two numbers, or one list or tuple of numbers.",
        "Nest the calls, or pass a list.",
        bad=kernel("return min(1, 2, y)"),
        good=kernel("return min([1, 2, y])"),
    )
)
INSTANCE_OF_TUPLE = document(
    RuleDoc(
        "NKL097",
        "isinstance-of-tuple",
        "isinstance with several types is always False",
        "The front end compares with one type. It knows no tuple of types and does not say so.",
        "Write one isinstance for each type, joined by `or`.",
        bad=kernel("return isinstance(y, (int, float))"),
        good=kernel("return isinstance(y, int) or isinstance(y, float)"),
        stage="ours",
    )
)

_NAMES = {"Mod": "mod", "Mult": "mul", "Sub": "sub", "Div": "div", "FloorDiv": "floor", "Pow": "pow"}


def _kind(node: ast.expr, context: Context) -> str:
    """``list``, ``dict`` or ``string`` where ``node`` surely is one."""
    function = context.function
    return container_kind(node, _known(function, context)) if function is not None else ""


def _known(function: Function, context: Context) -> dict[str, str]:
    return context.module.remembered(container_names, function)


@on(ast.Attribute, evaluated=True)
def method(node: ast.Attribute, context: Context) -> Iterator[Violation]:
    kind = _kind(node.value, context)
    if kind not in METHODS or node.attr in METHODS[kind]:
        return
    text = f"unimplemented API builtin.list.{node.attr}" if (kind, node.attr) == ("list", "sort") else ""
    yield report(METHOD, node, node.attr, kind, message=text)


@on(ast.Call, evaluated=True)
def method_arguments(node: ast.Call, context: Context) -> Iterator[Violation]:
    """``rows.pop(0)`` takes the last element, ``rows.count(x)`` gives the length: the argument is surplus."""
    if not isinstance(node.func, ast.Attribute) or expands(node):
        return
    kind = _kind(node.func.value, context)
    signature = METHODS.get(kind, {}).get(node.func.attr)
    if signature is not None:
        entry = beta2.function(signature)
        yield from argument_problems(node, entry, len(node.args) + 1, builtin=f"builtin_{kind}_{node.func.attr}")


@on(ast.Call, evaluated=True)
def function_arguments(node: ast.Call, context: Context) -> Iterator[Violation]:
    """Arguments of Python's own functions and of those of ``math``."""
    if expands(node):
        return
    name = _python_function(node.func, context)
    module, _, last = name.rpartition(".")
    signature = FUNCTIONS.get(module, {}).get(last)
    if signature is not None:
        prefix = "math" if module == "math" else "builtin_python"
        yield from argument_problems(node, beta2.function(signature), len(node.args), builtin=f"{prefix}_{last}")
    elif name in ("builtins.min", "builtins.max"):
        yield from _min_max(node, last)
    elif name == "builtins.print":
        yield from _dropped_keywords(node, last)
    if name == "builtins.isinstance" and len(node.args) == 2 and isinstance(node.args[1], (ast.Tuple, ast.BinOp)):
        yield report(INSTANCE_OF_TUPLE, node.args[1])


def _min_max(node: ast.Call, name: str) -> Iterator[Violation]:
    if not node.args:
        yield report(MIN_MAX, node, message=f"{name} expected at least 1 argument, got 0")
    elif len(node.args) > 2:
        yield report(MIN_MAX, node)
    yield from _dropped_keywords(node, name)


def _dropped_keywords(node: ast.Call, name: str) -> Iterator[Violation]:
    for keyword in node.keywords:
        text = f"{name} takes no keywords: the front end drops {keyword.arg}= without a word"
        yield report(SURPLUS, keyword.value, message=text, help=KEYWORD.help)


def _python_function(callee: ast.expr, context: Context) -> str:
    if isinstance(callee, ast.Name):
        is_own = callee.id in context.local or context.module.binds(callee.id)
        return (context.qualified(callee) or "") if is_own else f"builtins.{callee.id}"
    return context.qualified(callee) or ""


@on(ast.For)
def loop_over_dictionary(node: ast.For, context: Context) -> Iterator[Violation]:
    if _kind(node.iter, context) in ("dict", "string"):
        yield report(DICT_LOOP, node.iter)


@on(ast.Compare, evaluated=True)
def membership(node: ast.Compare, context: Context) -> Iterator[Violation]:
    if (
        len(node.ops) == 1
        and isinstance(node.ops[0], (ast.In, ast.NotIn))
        and _kind(node.comparators[0], context) == "dict"
    ):
        yield report(DICT_IN, node, message=DICT_IN.message.format())


@on(ast.Subscript, evaluated=True)
def subscript(node: ast.Subscript, context: Context) -> Iterator[Violation]:
    kind = _kind(node.value, context)
    if kind == "string":
        yield report(STRING_SUBSCRIPT, node)
    elif kind == "dict" and isinstance(node.slice, ast.Constant) and not isinstance(node.slice.value, str):
        yield report(DICT_SUBSCRIPT, node.slice, KINDS.get(type(node.slice.value), "none"))


@on(ast.BinOp, evaluated=True)
def string_operator(node: ast.BinOp, context: Context) -> Iterator[Violation]:
    operator = _NAMES.get(type(node.op).__name__)
    if operator and "string" in (_kind(node.left, context), _kind(node.right, context)):
        yield report(STRING_OPERATOR, node, operator)
