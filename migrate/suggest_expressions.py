"""The values of expressions of sizes, as far as the source alone tells them."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, ClassVar

from nki_migrate.runtime.spec.hardware import PARTITIONS

_CONSTANTS = {
    "pmax": PARTITIONS,
    "psum_fmax": 512,
    "gemm_stationary_fmax": 128,
    "gemm_moving_fmax": 512,
    "psum_min_align": 4,
    "sbuf_min_align": 1,
}
_OPERATORS: dict[type[ast.AST], Callable[..., object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda one, others: one in others,
    ast.NotIn: lambda one, others: one not in others,
    ast.USub: operator.neg,
    ast.LShift: lambda number, by: number << min(by, _BITS),
    ast.RShift: lambda number, by: number >> min(by, _BITS),
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
}
_FUNCTIONS: dict[str, Callable[..., object]] = {
    "len": len,
    "min": min,
    "max": max,
    "int": int,
    "abs": abs,
    "sum": sum,
    "tuple": tuple,
    "list": tuple,
    "math.ceil": math.ceil,
    "math.floor": math.floor,
    "math.sqrt": math.sqrt,
    "math.prod": math.prod,
    "ceil": math.ceil,
    "floor": math.floor,
    "np.ceil": math.ceil,
    "np.floor": math.floor,
    "np.prod": math.prod,
}
_DEPTH = 4
_BITS = 64
"""A size is no larger."""


class Unknown(Exception):
    """An expression whose value the source alone does not tell."""


def evaluated(node: ast.expr, values: Mapping[str, object], functions: Mapping[str, ast.FunctionDef] = {}) -> object:
    """The value of an expression of sizes. Raises :class:`Unknown`.

    ``values`` may have names, and attributes of them (``x.shape``). ``functions`` are those of the module: one that
    only returns an expression is evaluated.
    """
    try:
        return _Evaluation(values, functions, _DEPTH).value(node)
    except (TypeError, ValueError, ZeroDivisionError, IndexError, KeyError, OverflowError) as error:
        raise Unknown from error


@lru_cache(4096)
def _text(node: ast.expr) -> str:
    """An expression as text: sizes are tried some thousand times, and the trees of a file do not change."""
    return ast.unparse(node)


class _Evaluation:
    """Raises what Python raises, and :class:`KeyError` for what is not known."""

    def __init__(self, values: Mapping[str, object], functions: Mapping[str, ast.FunctionDef], depth: int) -> None:
        self.values, self.functions, self.depth = values, functions, depth

    def value(self, node: ast.expr) -> object:
        evaluate = self.KINDS.get(type(node))
        if evaluate is None:
            raise KeyError(ast.unparse(node))
        return evaluate(self, node)

    def _named(self, node: ast.Name) -> object:
        return self.values[node.id]

    def _attribute(self, node: ast.Attribute) -> object:
        text = _text(node)
        return self.values[text] if text in self.values else _CONSTANTS[node.attr]

    def _operation(self, node: ast.BinOp) -> object:
        return _OPERATORS[type(node.op)](self.value(node.left), self.value(node.right))

    def _compared(self, node: ast.Compare) -> bool:
        items = [self.value(item) for item in (node.left, *node.comparators)]
        pairs = zip(node.ops, items, items[1:], strict=False)
        return all(_OPERATORS[type(op)](a, b) for op, a, b in pairs)

    def _joined(self, node: ast.BoolOp) -> object:
        """The value of ``a and b``, ``a or b``: what follows one that decides is not asked."""
        found: object = None
        for each in node.values:
            found = self.value(each)
            if bool(found) is isinstance(node.op, ast.Or):
                return found
        return found

    def _part(self, node: ast.Subscript) -> object:
        whole, index = self.value(node.value), node.slice
        if not isinstance(whole, (tuple, str)):
            raise TypeError(whole)
        if isinstance(index, ast.Slice):
            bounds = [None if part is None else self.value(part) for part in (index.lower, index.upper, index.step)]
            return whole[slice(*bounds)]  # type: ignore[arg-type]  # what is no index raises TypeError
        at = self.value(index)
        return whole[operator.index(at)]  # type: ignore[arg-type]  # what is no index raises TypeError

    def _called(self, node: ast.Call) -> object:
        name = _text(node.func)
        known = self.functions.get(name)
        if known is None:
            if node.keywords:
                raise KeyError(name)
            return _FUNCTIONS[name](*(self.value(item) for item in node.args))
        statements = [s for s in known.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
        only = statements[0] if len(statements) == 1 else None
        if not self.depth or not isinstance(only, ast.Return) or only.value is None:
            raise KeyError(name)
        names = [argument.arg for argument in (*known.args.posonlyargs, *known.args.args, *known.args.kwonlyargs)]
        given = {name: self.value(item) for name, item in zip(names, node.args, strict=False)}
        given |= {each.arg: self.value(each.value) for each in node.keywords if each.arg}
        return _Evaluation(given, self.functions, self.depth - 1).value(only.value)

    KINDS: ClassVar[dict[type[ast.expr], Callable[[_Evaluation, Any], object]]] = {
        ast.Constant: lambda self, node: node.value,
        ast.Name: _named,
        ast.Attribute: _attribute,
        ast.BinOp: _operation,
        ast.UnaryOp: lambda self, node: _OPERATORS[type(node.op)](self.value(node.operand)),
        ast.Compare: _compared,
        ast.BoolOp: _joined,
        ast.IfExp: lambda self, node: self.value(node.body if self.value(node.test) else node.orelse),
        ast.Subscript: _part,
        ast.Tuple: lambda self, node: tuple(self.value(item) for item in node.elts),
        ast.List: lambda self, node: tuple(self.value(item) for item in node.elts),
        ast.Call: _called,
    }
