"""Kernel code whose operators look at their values (:mod:`.python_values`), for as long as a launch lasts."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType

from ..legality.rules_dynamic import carried, escaping
from ..recompiled import recompiled
from ..source import function_source
from .python_values import FUNCTION_NAMES, METHOD_NAMES

_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitOr: "|",
    ast.BitAnd: "&",
    ast.BitXor: "^",
}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}


@contextmanager
def observed(functions: Iterable[FunctionType]) -> Iterator[None]:
    """Let ``functions`` look at their values for the duration of the block."""
    changed: list[tuple[FunctionType, CodeType]] = []
    try:
        for function in functions:
            code = _observing(function)
            if code is not None:
                changed.append((function, function.__code__))
                function.__code__ = code
        yield
    finally:
        for function, code in changed:
            function.__code__ = code


def _observing(function: FunctionType) -> CodeType | None:
    code = function.__code__
    if id(code) not in _OBSERVING:
        _OBSERVING[id(code)] = (code, _compiled(function))
    return _OBSERVING[id(code)][1]


_OBSERVING: dict[int, tuple[CodeType, CodeType | None]] = {}
"""By ``id`` of the code, which is kept alive."""


def _compiled(function: FunctionType) -> CodeType | None:
    found = function_source(function.__code__)
    if found is None or any(_is_private(node) for node in ast.walk(found)):
        return None
    tree = copy.deepcopy(found)
    observer = _Observer(tree)
    tree.body = [observer.visit(statement) for statement in tree.body]
    made = recompiled(function, tree, function.__code__.co_freevars)
    return made if made.co_freevars == function.__code__.co_freevars else None


def _is_private(node: ast.AST) -> bool:
    """Is ``node`` a name that Python mangles in a class?"""
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return name.startswith("__") and not name.endswith("__")


def _call(name: str, place: ast.AST, *arguments: ast.expr) -> ast.Call:
    """A call of a stand-in with the place of the expression that it stands for."""
    callee = ast.Name(f"__nki_{name}__", ast.Load())
    call = ast.Call(callee, list(arguments), [])
    for node in (call, callee, *(a for a in arguments if isinstance(a, (ast.Constant, ast.Tuple)))):
        if not hasattr(node, "lineno"):
            ast.copy_location(node, place)
    return call


class _Observer(ast.NodeTransformer):
    """Puts stand-ins for operators, conditions, subscripts and calls of Python's own functions."""

    def __init__(self, function: ast.FunctionDef) -> None:
        self.function = copy.deepcopy(function)
        self.originals = {
            (node.lineno, node.col_offset): node
            for node in ast.walk(self.function)
            if isinstance(node, (ast.If, ast.While))
        }

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if type(node.op) not in _OPERATORS or _is_plain_sum(node):
            return node
        return _call("binary", node, ast.Constant(_OPERATORS[type(node.op)]), node.left, node.right)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        value = self.visit(node.value)
        if type(node.op) not in _OPERATORS or not _is_simple(node.target):
            node.value = value
            return node
        old = copy.deepcopy(node.target)
        for part in ast.walk(old):
            if isinstance(getattr(part, "ctx", None), ast.Store):
                setattr(part, "ctx", ast.Load())  # noqa: B010
        new = _call("augmented", node, ast.Constant(_OPERATORS[type(node.op)]), self.visit(old), value)
        return ast.copy_location(ast.Assign([self.visit(node.target)], new), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not):
            node.operand = self._truth(node.operand)
        elif isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
            return _call("negated", node, node.operand)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        self.generic_visit(node)
        node.values[:-1] = [self._truth(value) for value in node.values[:-1]]
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        node.test = self._truth(node.test)
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        self.generic_visit(node)
        node.test = self._truth(node.test)
        return node

    def visit_If(self, node: ast.If) -> ast.stmt:
        original = self.originals[node.lineno, node.col_offset]
        assert isinstance(original, ast.If)
        state = [name for name, _ in escaping(original, self.function)][:1]
        self.generic_visit(node)
        node.test = self._truth(node.test, *state, whole=True)
        return node

    def visit_While(self, node: ast.While) -> ast.stmt:
        original = self.originals[node.lineno, node.col_offset]
        assert isinstance(original, ast.While)
        state = [f"loop:{name}" for name, _ in carried(original)][:1]
        self.generic_visit(node)
        node.test = self._truth(node.test, *state, whole=True)
        return node

    def _truth(self, test: ast.expr, *state: str, whole: bool = False) -> ast.expr:
        return _call("truth", test, test, ast.Constant(whole), *(ast.Constant(name) for name in state))

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        sides = [node.left, *node.comparators]
        if any(isinstance(side, ast.Constant) and side.value is None for side in sides):
            return node
        symbols = ast.Tuple([ast.Constant(_COMPARISONS[type(op)]) for op in node.ops], ast.Load())
        return _call("compared", node, symbols, *sides)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in FUNCTION_NAMES:
            node.func = _call("function", node.func, node.func)
        elif isinstance(node.func, ast.Attribute) and node.func.attr in METHOD_NAMES:
            node.func = _call("method", node.func, node.func.value, ast.Constant(node.func.attr))
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        is_tensors = isinstance(node.slice, ast.Tuple) and isinstance(node.ctx, ast.Load)
        self.generic_visit(node)
        if not is_tensors:  # nothing else is read with several indices
            node.value = _call("elements", node.value, node.value)
        return node

    def visit_For(self, node: ast.For) -> ast.stmt:
        self.generic_visit(node)
        node.iter = _call("iterable", node.iter, node.iter)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        self.generic_visit(node)
        if any(isinstance(target, (ast.Tuple, ast.List)) for target in node.targets):
            node.value = _call("iterable", node.value, node.value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        node.target = self.visit(node.target)
        node.value = self.visit(node.value) if node.value is not None else None
        return node


def _is_plain_sum(node: ast.BinOp) -> bool:
    """Is ``node`` a sum or difference with a literal int, which both compute alike or refuse alike?"""
    literals = [side for side in (node.left, node.right) if isinstance(side, ast.Constant) and type(side.value) is int]
    return isinstance(node.op, (ast.Add, ast.Sub)) and bool(literals)


def _is_simple(target: ast.expr) -> bool:
    """Can ``target`` be evaluated twice?"""
    return not any(isinstance(node, ast.Call) for node in ast.walk(target))
