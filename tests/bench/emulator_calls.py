"""NumPy's work in one run of the emulator, to be timed without the emulator.

That is what the definitions of the instructions (``runtime/isa``, ``runtime/numerics``) do with arrays: calls of
NumPy's functions and of arrays' methods, operators, subscripts, and the copy into the destination. The code of these
modules is replaced by one that also notes each of these with its operands. What the rest of the emulator does with
arrays, such as the views that subscripts of a kernel make, is not NumPy's work but the emulator's.
"""

from __future__ import annotations

import ast
import gc
import inspect
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from nki_migrate.runtime import numerics

_NAMES = ("core", "elementwise", "functions", "matmul", "mx", "operators", "reductions", "search", "statistics")
MODULES = (numerics, *(import_module(f"nki_migrate.runtime.isa.{name}") for name in _NAMES))
"""By their names: ``nki_migrate.runtime.isa`` has functions that are called like their modules."""
Call = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]

_NOTED = "__noted__"
_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.MatMult: operator.matmul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.USub: operator.neg,
    ast.Invert: operator.invert,
}
_BY_NAME = {function.__name__: function for function in (*_OPERATORS.values(), operator.getitem, operator.setitem)}


class _Noting(ast.NodeTransformer):
    """Calls ``__noted__`` in place of calls, operators, subscripts and assignments to subscripts."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.body = [self.visit(statement) for statement in node.body]  # not its annotations
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.value = node.value and self.visit(node.value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        return _noted(node, node.func, *node.args, keywords=node.keywords)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        return _noted(node, _named(_OPERATORS.get(type(node.op))), node.left, node.right)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        found = _OPERATORS.get(type(node.op))
        return node if found is None else _noted(node, _named(found), node.operand)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        found = _OPERATORS.get(type(node.ops[0])) if len(node.ops) == 1 else None
        return node if found is None else _noted(node, _named(found), node.left, node.comparators[0])

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        return _noted(node, _named(operator.getitem), node.value, _index(node))

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        node.value = self.visit(node.value)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        node.value = self.visit(node.value)
        (target,) = node.targets
        if not isinstance(target, ast.Subscript):
            return node
        call = _noted(node, _named(operator.setitem), self.visit(target.value), self.visit(_index(target)), node.value)
        return ast.copy_location(ast.Expr(call), node)


def _index(node: ast.Subscript) -> ast.expr:
    """The index as an expression of its own: slices only stand in subscripts."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    found = [_slice(part) if isinstance(part, ast.Slice) else part for part in parts]
    index = ast.Tuple(found, ast.Load()) if isinstance(node.slice, ast.Tuple) else found[0]
    return ast.copy_location(index, node)


def _slice(part: ast.Slice) -> ast.expr:
    bounds: list[ast.expr] = [bound or ast.Constant(None) for bound in (part.lower, part.upper, part.step)]
    return ast.Call(ast.Name("slice", ast.Load()), bounds, [])


def _named(function: Callable[..., Any] | None) -> ast.expr:
    assert function is not None
    return ast.Attribute(ast.Name(_NOTED, ast.Load()), function.__name__, ast.Load())


def _noted(node: ast.expr | ast.stmt, *parts: ast.expr, keywords: list[ast.keyword] | None = None) -> ast.expr:
    call = ast.Call(ast.Name(_NOTED, ast.Load()), list(parts), keywords or [])
    return ast.fix_missing_locations(ast.copy_location(call, node))


class _Notes:
    """``notes(function, ...)`` calls the function; ``calls`` gets it where it is NumPy's or has to do with an array."""

    def __init__(self, calls: list[Call]) -> None:
        self._calls = calls
        vars(self).update(_BY_NAME)

    def __call__(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if _is_of_numpy(function) or (function in _BY_NAME.values() and any(isinstance(a, np.ndarray) for a in args)):
            self._calls.append((function, args, kwargs))
        return function(*args, **kwargs)


def _is_of_numpy(function: Callable[..., Any]) -> bool:
    """A function, universal function or type of NumPy, or a method of an array (or of a universal function)."""
    of = getattr(function, "__self__", None)
    if isinstance(of, (np.ndarray, np.ufunc)) or isinstance(function, np.ufunc):
        return True
    return (getattr(function, "__module__", None) or "").partition(".")[0] == "numpy"


def _noting_code(module: ModuleType) -> dict[tuple[str, int], CodeType]:
    """The code of each function in the source of ``module``, as one that notes; by its name and first line."""
    tree = _Noting().visit(ast.parse(inspect.getsource(module)))
    found = list(_inner(compile(ast.fix_missing_locations(tree), str(module.__file__), "exec")))
    by_place = {(code.co_name, code.co_firstlineno): code for code in found}
    assert len(by_place) == len(found), f"two functions of one name in a line of {module.__file__}"
    return by_place


def _inner(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_name.isidentifier() or constant.co_name == "<lambda>":  # not a comprehension
                yield constant
            yield from _inner(constant)


@contextmanager
def _noting(calls: list[Call]) -> Iterator[None]:
    notes = _Notes(calls)
    codes = {str(module.__file__): _noting_code(module) for module in MODULES}
    before: list[tuple[FunctionType, CodeType]] = []
    gc.unfreeze()  # what is frozen (tests freeze what they import) is not among the objects
    for function in [item for item in gc.get_objects() if isinstance(item, FunctionType)]:
        code = function.__code__
        found = codes.get(code.co_filename, {}).get((code.co_name, code.co_firstlineno))
        if found is not None:
            before.append((function, code))
            function.__globals__[_NOTED] = notes
            function.__code__ = found
    try:
        yield
    finally:
        for function, code in before:
            function.__code__ = code


def numpy_calls(run: Callable[[], object]) -> list[Call]:
    """What ``run`` lets NumPy do."""
    calls: list[Call] = []
    with _noting(calls):
        run()
    return calls


def repeat(calls: list[Call]) -> None:
    for function, args, kwargs in calls:
        function(*args, **kwargs)


def nothing(calls: list[Call]) -> list[Call]:
    """As many calls of a function that does nothing: what :func:`repeat` itself takes."""
    return [(operator.is_, (None, None), {})] * len(calls)
