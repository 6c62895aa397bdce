"""What an expression of a kernel's source is worth, where its names are known: nothing is executed."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from ...spec.ascend import ITEMSIZE

NameOf = Callable[[ast.expr], str | None]
"""The dotted name below ``tilelang.language`` (``alloc_ub``, ``tile.add``), or from the root (``tilelang.cdiv``)."""


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = _Unknown()
"""The worth of an expression that the source does not tell."""

_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_UNARY: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
}
_LARGEST = 1 << 62


def _ceildiv(a: int, b: int) -> int:
    return -(-a // b)


def _power_of_2(n: int) -> int:
    return 1 << max(n - 1, 0).bit_length()


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "max": max,
    "min": min,
    "abs": abs,
    "int": int,
    "float": float,
    "len": len,
    "sum": sum,
    "round": round,
    "tuple": tuple,
    "list": list,
    "bool": bool,
    "math.prod": math.prod,
    "math.sqrt": math.sqrt,
    "math.ceil": math.ceil,
    "math.floor": math.floor,
}
_OF_TILELANG: Mapping[str, Callable[..., Any]] = {
    "ceildiv": _ceildiv,
    "floordiv": operator.floordiv,
    "max": max,
    "min": min,
    "tilelang.cdiv": _ceildiv,
    "tilelang.math.cdiv": _ceildiv,
    "tilelang.math.next_power_of_2": _power_of_2,
    "tilelang.next_power_of_2": _power_of_2,
}


def evaluate(node: ast.expr, names: Mapping[str, object], name_of: NameOf) -> object:
    """The value of ``node``: numbers, text, tuples and lists; :data:`UNKNOWN` where the names do not tell."""
    try:
        return _Evaluator(names, name_of).value(node)
    except (ArithmeticError, TypeError, ValueError, LookupError, RecursionError, AttributeError):
        return UNKNOWN


def unknown_names(node: ast.expr, names: Mapping[str, object], name_of: NameOf) -> list[str]:
    """The names in ``node`` that have no known value."""
    found = [n for n in ast.walk(node) if isinstance(n, ast.Name) and name_of(n) is None]
    return list(dict.fromkeys(n.id for n in found if names.get(n.id, UNKNOWN) is UNKNOWN and n.id not in _FUNCTIONS))


class _Evaluator:
    def __init__(self, names: Mapping[str, object], name_of: NameOf) -> None:
        self._names, self._name_of = names, name_of

    def value(self, node: ast.expr) -> object:
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        found: object = method(node) if method else UNKNOWN
        return UNKNOWN if isinstance(found, int) and abs(found) > _LARGEST else found

    def _all(self, nodes: list[ast.expr]) -> list[object] | None:
        values = [self.value(node) for node in nodes]
        return None if any(value is UNKNOWN for value in values) else values

    def _constant(self, node: ast.Constant) -> object:
        return node.value

    def _name(self, node: ast.Name) -> object:
        return self._names.get(node.id, UNKNOWN)

    def _tuple(self, node: ast.Tuple) -> object:
        values = self._all(node.elts)
        return UNKNOWN if values is None else tuple(values)

    def _list(self, node: ast.List) -> object:
        values = self._all(node.elts)
        return UNKNOWN if values is None else values

    def _unaryop(self, node: ast.UnaryOp) -> object:
        value = self.value(node.operand)
        return UNKNOWN if value is UNKNOWN else _UNARY[type(node.op)](value)

    def _binop(self, node: ast.BinOp) -> object:
        values = self._all([node.left, node.right])
        if values is None:
            return UNKNOWN
        if isinstance(node.op, ast.Pow):
            base, power = values
            small = isinstance(power, (int, float)) and abs(power) <= 64
            return base ** power if small and isinstance(base, (int, float)) else UNKNOWN  # type: ignore[operator]  # a number
        if isinstance(node.op, (ast.LShift, ast.Mult)) and any(isinstance(v, (str, list, tuple)) for v in values):
            return (
                UNKNOWN
                if not all(isinstance(v, int) and v < 64 for v in values if isinstance(v, int))
                else (_BINARY[type(node.op)](*values))
            )
        if isinstance(node.op, ast.LShift) and not (isinstance(values[1], int) and values[1] < 64):
            return UNKNOWN
        return _BINARY[type(node.op)](*values)

    def _boolop(self, node: ast.BoolOp) -> object:
        wanted = isinstance(node.op, ast.Or)
        value: object = UNKNOWN
        for operand in node.values:
            value = self.value(operand)
            if value is UNKNOWN or bool(value) == wanted:
                return value
        return value

    def _compare(self, node: ast.Compare) -> object:
        values = self._all([node.left, *node.comparators])
        if values is None:
            return UNKNOWN
        pairs = zip(node.ops, values, values[1:], strict=False)
        return all(_COMPARE[type(op)](a, b) for op, a, b in pairs)

    def _ifexp(self, node: ast.IfExp) -> object:
        test = self.value(node.test)
        return UNKNOWN if test is UNKNOWN else self.value(node.body if test else node.orelse)

    def _subscript(self, node: ast.Subscript) -> object:
        values = self._all([node.value, node.slice])
        return UNKNOWN if values is None else values[0][values[1]]  # type: ignore[index]  # a container

    def _starred(self, node: ast.Starred) -> object:
        return UNKNOWN

    def _attribute(self, node: ast.Attribute) -> object:
        if isinstance(node.value, ast.Call) and node.attr in ("bits", "bytes"):
            size = self._type_size(node.value)
            return UNKNOWN if size is None else size * (8 if node.attr == "bits" else 1)
        key = ast.unparse(node)
        found = self._name_of(node)
        if found in ITEMSIZE:
            return found
        return self._names.get(key, UNKNOWN)

    def _type_size(self, node: ast.Call) -> int | None:
        """The bytes of ``DataType(dtype)``."""
        called = node.func
        name = called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) else ""
        value = self.value(node.args[0]) if name in ("DataType", "dtype") and node.args else UNKNOWN
        return ITEMSIZE.get(value) if isinstance(value, str) else None

    def _call(self, node: ast.Call) -> object:
        values = self._all(node.args)
        if values is None or node.keywords:
            return UNKNOWN
        known = self._name_of(node.func)
        if known is not None:
            function = _OF_TILELANG.get(known)
        else:
            name = ast.unparse(node.func)
            function = _FUNCTIONS.get(name) if name.partition(".")[0] not in self._names else None
        return UNKNOWN if function is None else function(*values)
