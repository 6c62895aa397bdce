"""Kernel code that refuses what the front end's tracing refuses, for as long as a launch lasts.

Its operators look at their values (:mod:`.python_values`), and a statement in which the checker found something raises
it instead of running.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType

from ..legality.model import Violation
from ..legality.rules_dynamic import carried, escaping
from ..legality.rules_values import OPERATOR_SYMBOLS
from ..recompiled import recompiled
from ..source import function_source
from ..spec.grammar import copied, nodes_of, statements
from .gather import Gathered, refused, violation_text
from .python_values import FUNCTION_NAMES, METHOD_NAMES, OF_INTS

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
def observed(functions: Iterable[Gathered]) -> Iterator[None]:
    """Let ``functions`` refuse what tracing refuses for the duration of the block."""
    changed: list[tuple[FunctionType, CodeType]] = []
    try:
        for item in functions:
            code = _observing(item)
            if code is not None:
                changed.append((item.function, item.function.__code__))
                item.function.__code__ = code
        yield
    finally:
        for function, code in changed:
            function.__code__ = code


def _observing(item: Gathered) -> CodeType | None:
    code = item.function.__code__
    key = id(code), item.violations
    if key not in _OBSERVING:
        _OBSERVING[key] = (code, _compiled(item))
    made = _OBSERVING[key][1]
    if made is None and item.violations:
        raise refused(item.violations[0], code.co_filename, len(item.violations) - 1)
    return made


_OBSERVING: dict[tuple[int, tuple[Violation, ...]], tuple[CodeType, CodeType | None]] = {}
"""By ``id`` of the code, which is kept alive."""


def _compiled(item: Gathered) -> CodeType | None:
    """``None`` where the source is not known, or cannot be compiled outside of its class."""
    function = item.function
    found = function_source(function.__code__)
    if found is None or any(_is_private(node) for node in nodes_of(found)):
        return None
    tree = copied(found)
    refusals = _refusals(tree, item.violations) if item.violations else {}
    observer = _Observer(found, refusals)
    tree.body = observer.statements(tree.body)
    tree.body[:0] = refusals.get(id(tree), [])
    made = recompiled(function, tree, function.__code__.co_freevars)
    return made if made.co_freevars == function.__code__.co_freevars else None


def _refusals(tree: ast.FunctionDef, violations: Iterable[Violation]) -> dict[int, list[ast.stmt]]:
    """Statements that raise, by ``id`` of the statement that they stand before, or of ``tree``."""
    found: dict[int, list[ast.stmt]] = {}
    statements = [node for statement in tree.body for node in ast.walk(statement) if isinstance(node, ast.stmt)]
    for violation in violations:
        place = (violation.line, violation.column - 1)
        around = [s for s in statements if _start(s) <= place < (s.end_lineno or 0, s.end_col_offset or 0)]
        innermost = max(around, key=_start, default=None)
        call = ast.Call(
            ast.Name("__nki_refuse__", ast.Load()),
            [ast.Constant(violation.code), ast.Constant(violation_text(violation))],
            [],
        )
        raising = ast.fix_missing_locations(
            ast.Expr(call, lineno=violation.line, col_offset=0, end_lineno=violation.line, end_col_offset=0)
        )
        found.setdefault(id(innermost or tree), []).append(raising)
    return found


def _start(node: ast.stmt) -> tuple[int, int]:
    return node.lineno, node.col_offset


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
    """Puts stand-ins for operators, conditions, subscripts and calls of Python's own functions, and ``refusals``
    before the statements that they are of. ``function`` is what a copy of is changed."""

    def __init__(self, function: ast.FunctionDef, refusals: dict[int, list[ast.stmt]]) -> None:
        self.function, self.refusals = function, refusals
        self.originals = {
            (node.lineno, node.col_offset): node
            for node in statements(function)
            if isinstance(node, (ast.If, ast.While))
        }

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """``body``, each statement after its refusals."""
        made: list[ast.stmt] = []
        for statement in body:
            before = self.refusals.get(id(statement), [])
            made += [*before, self.visit(statement)]
        return made

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Lists of statements go through :meth:`statements`, everything else as ever."""
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.AST):
                setattr(node, name, self.visit(value))
            elif isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                setattr(node, name, self.statements(value))
            elif isinstance(value, list):
                value[:] = [self.visit(item) if isinstance(item, ast.AST) else item for item in value]
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if type(node.op) not in OPERATOR_SYMBOLS or _is_plain_sum(node):
            return node
        symbol = OPERATOR_SYMBOLS[type(node.op)]
        if symbol not in OF_INTS:
            return _call("binary", node, ast.Constant(symbol), node.left, node.right)
        other = _call(OF_INTS[symbol].__name__, node, node.left, node.right)
        return _of_ints(node, other) if _is_leaf(node.left) and _is_leaf(node.right) else other

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        value = self.visit(node.value)
        if type(node.op) not in OPERATOR_SYMBOLS or not _is_simple(node.target):
            node.value = value
            return node
        old = copied(node.target)
        for part in ast.walk(old):
            if isinstance(getattr(part, "ctx", None), ast.Store):
                setattr(part, "ctx", ast.Load())  # noqa: B010
        new = _call("augmented", node, ast.Constant(OPERATOR_SYMBOLS[type(node.op)]), self.visit(old), value)
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
        state = escaping(original, self.function)[:1]
        self.generic_visit(node)
        node.test = self._truth(node.test, *state, whole=True)
        return node

    def visit_While(self, node: ast.While) -> ast.stmt:
        original = self.originals[node.lineno, node.col_offset]
        assert isinstance(original, ast.While)
        state = [f"loop:{name}" for name in carried(original)][:1]
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
        symbols: list[ast.expr] = [ast.Constant(_COMPARISONS[type(op)]) for op in node.ops]
        if len(symbols) == 1:
            return _call("comparison", node, symbols[0], *sides)
        return _call("compared", node, ast.Tuple(symbols, ast.Load()), *sides)

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
        if is_tensors:  # nothing else is read with several indices
            return node
        if isinstance(node.ctx, ast.Load) and _is_leaf(node.slice):
            return _call("element", node, node.value, node.slice)
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


def _of_ints(node: ast.BinOp, other: ast.expr) -> ast.expr:
    """``node`` where both sides are ints (and no divisor is below 1), else ``other``; they can be evaluated twice."""
    kinds = [_call("type", node, side) for side in (node.left, node.right)]
    are_ints: ast.expr = ast.Compare(kinds[0], [ast.Is(), ast.Is()], [kinds[1], ast.Name("__nki_int__", ast.Load())])
    if isinstance(node.op, (ast.FloorDiv, ast.Mod)):
        is_positive = ast.Compare(node.right, [ast.Gt()], [ast.Constant(0)])
        are_ints = ast.BoolOp(ast.And(), [are_ints, is_positive])
    return ast.copy_location(ast.IfExp(are_ints, node, other), node)


def _is_leaf(side: ast.expr) -> bool:
    """Is ``side`` a name or a literal int, which have no parts and no effects?"""
    return isinstance(side, ast.Name) or (isinstance(side, ast.Constant) and type(side.value) is int)


def _is_plain_sum(node: ast.BinOp) -> bool:
    """Is ``node`` a sum or difference with a literal int, which both compute alike or refuse alike?"""
    literals = [side for side in (node.left, node.right) if isinstance(side, ast.Constant) and type(side.value) is int]
    return isinstance(node.op, (ast.Add, ast.Sub)) and bool(literals)


def _is_simple(target: ast.expr) -> bool:
    """Can ``target`` be evaluated twice?"""
    return not any(isinstance(node, ast.Call) for node in ast.walk(target))
