"""What functions and classes may look like."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..spec.versions import LATER
from .classes import BAD_BASE, head_problem, last_component, read_statements, statement_problem
from .model import RuleDoc, Violation, kernel
from .names import Function, is_dotted
from .walk import Context, document, on, report

DECORATORS = frozenset({"staticmethod", "dataclass"})
BASES = frozenset({"NKIObject", "Enum"})

DECORATOR = document(
    RuleDoc(
        "NKL003",
        "decorator",
        "unsupported decorator {}",
        "The front end knows nki.jit, staticmethod and dataclass. A decorator would replace the function by another "
        "one.",
        "Drop the decorator. A property becomes a method.",
        bad="import functools\n\n\n@functools.lru_cache\ndef f(i):\n    return i\n\n\n" + kernel("return f(1)"),
        good="def f(i):\n    return i\n\n\n" + kernel("return f(1)"),
        stage="simplify",
    )
)
BASE = document(
    RuleDoc(
        "NKL004",
        "base-class",
        BAD_BASE,
        "A class that kernels use has the one base nki.language.NKIObject, or Enum; a subclass of such a class is "
        "refused too.",
        "Write class X(nl.NKIObject). There is no inheritance: copy what the other bases gave.",
        bad="class Shape:\n    rows: int = 1\n\n\n" + kernel("return Shape()"),
        good="class Shape(nl.NKIObject):\n    rows: int = 1\n\n\n" + kernel("return Shape()"),
        stage="gather",
    )
)
OTHER_BASE = document(
    RuleDoc(
        "NKL009",
        "exact-base-class",
        "unsupported base class {}",
        "Only Enum and NKIObject themselves count: IntEnum and classes with such a name of their own do not.",
        "Derive from Enum or nl.NKIObject.",
        bad="from enum import IntEnum\n\n\nclass Mode(IntEnum):\n    fast = 1\n\n\n" + kernel("return y == Mode.fast"),
        good="from enum import Enum\n\n\nclass Mode(Enum):\n    fast = 1\n\n\n" + kernel("return y == Mode.fast"),
        stage="simplify",
    )
)
CLASS_BODY = document(
    RuleDoc(
        "NKL005",
        "class-body",
        "Statement not supported in NKI classes",
        "A class holds fields (one name each), functions and a docstring.",
        "Move everything else to the module level.",
        bad="class Shape(nl.NKIObject):\n    if True:\n        rows: int = 1\n\n\n" + kernel("return Shape()"),
        good="class Shape(nl.NKIObject):\n    rows: int = 1\n\n\n" + kernel("return Shape()"),
        stage="gather",
    )
)
VARARGS = document(
    RuleDoc(
        "NKL006",
        "varargs",
        "varargs are not supported in NKI",
        "The number of parameters is fixed.",
        "Pass a list or a tuple.",
        bad="def f(*rows):\n    return rows\n\n\n" + kernel("return f(1, 2)"),
        good="def f(rows):\n    return rows\n\n\n" + kernel("return f((1, 2))"),
        stage="simplify",
    )
)
KWARGS = document(
    RuleDoc(
        "NKL007",
        "keyword-varargs",
        "variable keyword arguments are not supported in NKI",
        "The front end warns here, and refuses every call that passes such a keyword and every use of the "
        "dictionary.",
        "Write the parameters out, or pass a dictionary.",
        bad="def f(**options):\n    return options\n\n\n" + kernel("return f()"),
        good="def f(options):\n    return options\n\n\n" + kernel('return f({"rows": 1})'),
        stage="simplify",
    )
)
KEYWORD_ONLY = document(
    RuleDoc(
        "NKL008",
        "keyword-only",
        "keyword-only arguments are not supported in NKI",
        "NKI 0.3 does not know the bare * in a list of parameters.",
        "Delete the *.",
        bad="def f(a, *, b):\n    return a + b\n\n\n" + kernel("return f(1, b=2)"),
        good="def f(a, b):\n    return a + b\n\n\n" + kernel("return f(1, b=2)"),
        stage="simplify",
        span=LATER,
    )
)


@on(ast.FunctionDef, ast.AsyncFunctionDef)
def signature(node: Function, context: Context) -> Iterator[Violation]:
    if node is not context.function:
        return
    if node.args.vararg is not None:
        yield report(VARARGS, node.args.vararg)
    if node.args.kwarg is not None:
        yield report(KWARGS, node.args.kwarg)
    if node.args.kwonlyargs and context.target in LATER:
        yield report(KEYWORD_ONLY, node.args.kwonlyargs[0])


@on(ast.FunctionDef)
def function_decorators(node: ast.FunctionDef, context: Context) -> Iterator[Violation]:
    if node is context.function:
        yield from _decorators(node.decorator_list, context)


def _decorators(decorators: list[ast.expr], context: Context) -> Iterator[Violation]:
    for decorator in decorators:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = context.module.qualified(called) or (ast.unparse(called) if is_dotted(called) else "")
        last = name.rpartition(".")[2]
        if last not in DECORATORS and not f".{name}".endswith(".nki.jit"):
            yield report(DECORATOR, decorator, name, message="" if name else "unsupported decorator")


@on(ast.ClassDef)
def class_definition(node: ast.ClassDef, context: Context) -> Iterator[Violation]:
    """The head of a class, then its body as far as the front end reads it."""
    if node is not context.item.node:
        return
    problem = head_problem(node)
    if problem:
        yield report(BASE if problem == BASE.message else CLASS_BODY, node, message=problem)
        return
    yield from _decorators(node.decorator_list, context)
    for base in node.bases:
        name = (context.module.qualified(base) or last_component(base) or "").rpartition(".")[2]
        if name not in BASES:
            yield report(OTHER_BASE, base, name)
    for statement in read_statements(node):
        if problem := statement_problem(statement):
            yield report(CLASS_BODY, statement, message=problem)
