"""Values of expressions, for all iterations of the parallel loops around them at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import KernelError, NotModelled
from .ir import Buffer, Expr, Load, Var
from .types import numpy_type

Array = npt.NDArray[Any]

_BINARY: dict[str, Callable[[Array, Array], Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "floordiv": np.floor_divide,
    "mod": np.mod,
    "bitand": np.bitwise_and,
    "bitor": np.bitwise_or,
    "bitxor": np.bitwise_xor,
    "shl": np.left_shift,
    "shr": np.right_shift,
    "max": np.maximum,
    "min": np.minimum,
    "pow": np.power,
    "truncdiv": lambda a, b: np.trunc(np.divide(a, b)),
    "truncmod": np.fmod,
    "and": np.logical_and,
    "or": np.logical_or,
}
_COMPARE = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}
_UNARY: dict[str, Callable[[Array], Any]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "exp10": lambda x: np.power(x.dtype.type(10), x),
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: (1 / np.sqrt(x.astype(np.float64))).astype(x.dtype),
    "sigmoid": lambda x: (1 / (1 + np.exp(-x.astype(np.float64)))).astype(x.dtype),
    **{
        name: getattr(np, name)
        for name in "sin cos tan tanh sinh cosh floor ceil trunc abs isnan isinf isfinite invert".split()
    },
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "round": np.rint,
    "not": np.logical_not,
}


class Values:
    """Evaluates expressions. ``env`` gives each variable its value: a number, or one for each lane.

    ``read`` gets the elements of a buffer at indices, for the lanes that ``active`` leaves.
    """

    def __init__(self, env: Mapping[int, Any], read: Callable[[Buffer, tuple[Any, ...], Any], Array]) -> None:
        self._env, self._read = env, read

    def of(self, expression: Any, active: Any = True) -> Any:
        """The value, of the type of the expression. Lanes that are not ``active`` may have any."""
        if not isinstance(expression, Expr):
            return expression
        if isinstance(expression, Var):
            found = self._env.get(id(expression))
            if found is None:
                raise KernelError("", f"'{expression.name}' has no value here")
            return found
        if isinstance(expression, Load):
            indices = tuple(self.of(each, active) for each in expression.indices)
            return self._read(expression.buffer, indices, active)
        op, args = expression.op, expression.args
        dtype = numpy_type(expression.dtype)
        if op == "const":
            return np.asarray(args[0]).astype(dtype)[()]
        if op == "select":
            return self._select(expression, active)
        if op == "cast":
            return cast(self.of(args[0], active), dtype)
        if op == "reinterpret":
            return np.ascontiguousarray(self.of(args[0], active)).view(dtype)[()]
        if op in _COMPARE:
            kind = numpy_type(args[2])
            return _COMPARE[op](cast(self.of(args[0], active), kind), cast(self.of(args[1], active), kind))
        if op in _BINARY:
            return self._binary(op, args, dtype, active)
        if op in _UNARY:
            operand = self.of(args[0], active)
            operand = np.asarray(operand)
            return cast(_UNARY[op](operand), dtype)
        raise NotModelled(f"T.{op}")

    def _binary(self, op: str, args: tuple[Any, ...], dtype: np.dtype[Any], active: Any) -> Any:
        left, right = (self.of(each, active) for each in args)
        if op in ("and", "or"):
            return _BINARY[op](left, right)
        left, right = cast(left, dtype), cast(right, dtype)
        if op in ("floordiv", "mod", "truncdiv", "truncmod") and dtype.kind in "iu":
            if np.any((np.asarray(right) == 0) & active):
                raise KernelError("", "a division of integers by zero")
            right = np.where(np.asarray(right) == 0, 1, right)
        return cast(_BINARY[op](left, right), dtype)

    def _select(self, expression: Expr, active: Any) -> Any:
        test = np.asarray(self.of(expression.args[0], active)).astype(bool)
        dtype = numpy_type(expression.dtype)
        then = self.of(expression.args[1], active & test)
        other = self.of(expression.args[2], active & ~test)
        return np.where(test, cast(then, dtype), cast(other, dtype))


def cast(given: Any, dtype: np.dtype[Any]) -> Any:
    """``given`` converted to a type, as the hardware does: integers wrap."""
    array = np.asarray(given)
    if array.dtype == dtype:
        return array[()]
    if dtype.kind in "iu" and array.dtype.kind not in "iub":
        array = np.trunc(array.astype(np.float64))
    if dtype.kind == "b":
        return (array != 0)[()]
    return array.astype(dtype)[()]
