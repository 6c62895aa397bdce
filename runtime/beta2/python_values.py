"""Python's values as the front end has them: what it refuses, and what it computes otherwise, is an error.

The checker refuses what the source tells. These functions stand in a kernel's code for Python's operators
(:mod:`.observed` puts them there) and refuse, with the checker's code and text, what only the values tell.
Source: ``KLR/Trace/Term.lean``, ``Python.lean`` and ``Types.lean``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

import numpy as np

from ..errors import KernelError
from ..legality.model import RuleDoc
from ..legality.rules_calls import SURPLUS
from ..legality.rules_containers import (
    DICT_IN,
    DICT_LOOP,
    DICT_SUBSCRIPT,
    INSTANCE_OF_TUPLE,
    METHOD,
    METHODS,
    MIN_MAX,
    STRING_OPERATOR,
    STRING_SUBSCRIPT,
)
from ..legality.rules_dynamic import BRANCH_STATE, LOOP_STATE, REGISTER_TRUTH
from ..legality.rules_expressions import STRING_METHOD
from ..legality.rules_loops import FLOAT_MODULO, INTEGER_POWER, NEGATIVE_DIVISOR
from ..legality.rules_values import (
    BIT_OPERATION,
    BOOLEAN_ARITHMETIC,
    BOOLEAN_INSTANCE,
    EMPTY_DICTIONARY,
    NEGATIVE_STORE,
    NUMBER_COMPARISON,
    OPERATOR_NAMES,
    SLICE_BOUNDS,
    STRING_LENGTH,
    bits_as_the_front_end_has_them,
)
from .objects import NKIObject
from .registers import Register
from .values import Unmodelled, kind

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "|": operator.or_,
    "&": operator.and_,
    "^": operator.xor,
}
_IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.iadd,
    "-": operator.isub,
    "*": operator.imul,
    "/": operator.itruediv,
    "//": operator.ifloordiv,
    "%": operator.imod,
    "**": operator.ipow,
    "<<": operator.ilshift,
    ">>": operator.irshift,
    "|": operator.ior,
    "&": operator.iand,
    "^": operator.ixor,
}
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": operator.is_,
    "is not": operator.is_not,
    "in": lambda item, container: item in container,
    "not in": lambda item, container: item not in container,
}
_COMPARISONS_OF_INTS = {**_COMPARISONS, "is": operator.eq, "is not": operator.ne}
"""What comparisons of ints do: the front end has no identities of its own for them."""
_NUMBERS = (bool, int, float)
_BITS = frozenset({"<<", ">>", "|", "&", "^"})
_WHOLE = frozenset({"+", "-", "*", "/"})
"""Operators that do to all ints what they do in Python."""


def refusal(doc: RuleDoc, *parts: object, message: str = "") -> KernelError:
    """The error of the rule ``doc`` at the kernel's line that runs; ``parts`` fill its message."""
    text = message or (doc.message.format(*parts) if "{" in doc.message else doc.message)
    return KernelError(doc.code, f"{text.rstrip('.')}. {' '.join(doc.help.split())}")


def refuse(code: str, text: str) -> None:
    """Raise what the checker found in the statement that would run now."""
    raise KernelError(code, text)


# --- operators -------------------------------------------------------------------------------------------------------


def binary(symbol: str, left: Any, right: Any) -> Any:
    """``left symbol right``."""
    if type(left) is type(right) is int:
        if symbol not in _WHOLE:
            _check_integers(symbol, left, right)
    elif type(left) in _CHECKED or type(right) in _CHECKED:
        _check_operands(symbol, left, right)
    return _BINARY[symbol](left, right)


def added(left: Any, right: Any) -> Any:
    """``left + right``. (Most operands are ints: :func:`binary`, without a look at its tables.)"""
    return left + right if type(left) is type(right) is int else binary("+", left, right)


def subtracted(left: Any, right: Any) -> Any:
    """``left - right``."""
    return left - right if type(left) is type(right) is int else binary("-", left, right)


def multiplied(left: Any, right: Any) -> Any:
    """``left * right``."""
    return left * right if type(left) is type(right) is int else binary("*", left, right)


def quotient(left: Any, right: Any) -> Any:
    """``left // right``."""
    return left // right if type(left) is type(right) is int and right > 0 else binary("//", left, right)


def remainder(left: Any, right: Any) -> Any:
    """``left % right``."""
    return left % right if type(left) is type(right) is int and right > 0 else binary("%", left, right)


OF_INTS: dict[str, Callable[..., Any]] = {"+": added, "-": subtracted, "*": multiplied, "//": quotient, "%": remainder}
"""The functions of the operators that kernels compute places and extents with."""


def augmented(symbol: str, left: Any, right: Any) -> Any:
    """The new value of ``left`` after ``left symbol= right``; a list is a new one, as the front end has it."""
    if type(left) in _CHECKED:
        return binary(symbol, left, right)
    return _IN_PLACE[symbol](left, right)


def negated(value: Any) -> Any:
    """``-value``."""
    if isinstance(value, bool):
        raise refusal(BOOLEAN_ARITHMETIC, message="cannot negate values of this type")
    return -value


def _check_integers(symbol: str, left: int, right: int) -> None:
    if symbol in ("//", "%"):
        if right < 0 and left % right:
            raise refusal(NEGATIVE_DIVISOR, symbol)
    elif symbol == "**":
        if right < 0:
            raise refusal(INTEGER_POWER)
    elif symbol in _BITS and (min(left, right) < 0 or max(left, right) >= 64):
        is_shift = symbol in ("<<", ">>")
        if (is_shift and right < 0) or _BINARY[symbol](left, right) != bits_as_the_front_end_has_them(
            symbol, left, right
        ):
            raise refusal(BIT_OPERATION, symbol)


_CHECKED = frozenset({bool, int, float, str, list, tuple, dict, type(None)})


def _check_operands(symbol: str, left: object, right: object) -> None:
    """Operands of which one is a plain Python value; what Python itself refuses is left to it."""
    kinds = {type(left), type(right)}
    if kinds <= {bool, int}:
        if kinds == {bool}:
            raise refusal(BOOLEAN_ARITHMETIC, OPERATOR_NAMES[symbol])
        _check_integers(symbol, int(left), int(right))  # type: ignore[call-overload]  # checked above
    elif kinds <= set(_NUMBERS):
        if bool in kinds:
            raise refusal(BOOLEAN_ARITHMETIC, OPERATOR_NAMES[symbol])
        if symbol == "%":
            raise refusal(FLOAT_MODULO)
    elif (str in kinds and symbol == "*") or (type(left) is str and symbol == "%") or kinds == {dict}:
        raise refusal(STRING_OPERATOR, OPERATOR_NAMES[symbol])


def compared(symbols: tuple[str, ...], first: Any, *others: Any) -> Any:
    """``first < other < ...``, all operands evaluated; the symbols are Python's."""
    result: Any = True
    left = first
    for symbol, right in zip(symbols, others, strict=True):
        result = comparison(symbol, left, right)
        if len(symbols) > 1 and not result:
            return result
        left = right
    return result


def comparison(symbol: str, left: Any, right: Any) -> Any:
    """``left symbol right``; the symbol is Python's."""
    if type(left) is type(right) is int:
        return _COMPARISONS_OF_INTS[symbol](left, right)
    if symbol in ("in", "not in"):
        if isinstance(right, dict):
            raise refusal(DICT_IN, message=f"in operator not support on types {kind(left)} and dict")
        if isinstance(right, (list, tuple)) and any(_equal_in_python_only(left, item) for item in right):
            raise refusal(NUMBER_COMPARISON, left, right)
    elif symbol in ("==", "!=", "<=", ">") and _equal_in_python_only(left, right):
        raise refusal(NUMBER_COMPARISON, left, right)
    elif symbol in ("is", "is not") and _is_plain(left) and _is_plain(right):
        return _COMPARISONS["==" if symbol == "is" else "!="](left, right)
    return _COMPARISONS[symbol](left, right)


def _is_plain(value: object) -> bool:
    """Does the front end compare ``value`` by what it is, where Python compares identities?"""
    return type(value) in (*_NUMBERS, str, tuple)


def _equal_in_python_only(left: object, right: object) -> bool:
    if type(left) in _NUMBERS and type(right) in _NUMBERS:
        return type(left) is not type(right) and left == right
    if isinstance(left, (list, tuple)) and type(left) is type(right) and len(left) == len(right):
        pairs = list(zip(left, right, strict=True))
        return any(_equal_in_python_only(a, b) for a, b in pairs) and bool(left == right)
    return False


def truth(value: Any, whole: bool, state: str = "") -> Any:
    """``value`` where its truth is asked. ``whole``: it is the whole condition of an if or while.

    ``state`` names what the branches or the body change (see :mod:`..legality.rules_dynamic`), with ``loop:`` before it
    for the body of a ``while``.
    """
    if type(value) is bool:
        return value
    if isinstance(value, Register):
        if not whole:
            raise refusal(REGISTER_TRUTH)
        if state:
            is_loop, name = state.startswith("loop:"), state.removeprefix("loop:")
            raise refusal(LOOP_STATE if is_loop else BRANCH_STATE, name)
    elif isinstance(value, dict):
        if not value:
            raise refusal(EMPTY_DICTIONARY)
    elif isinstance(value, slice):
        raise refusal(REGISTER_TRUTH, message="ambigous")
    return value


# --- subscripts and loops --------------------------------------------------------------------------------------------


def elements(value: Any) -> Any:
    """``value`` where it is subscripted."""
    if type(value) in _CONTAINERS:
        return _Elements(value)
    if isinstance(value, str):
        raise refusal(STRING_SUBSCRIPT)
    return value


_CONTAINERS = frozenset({list, tuple, dict})


def element(value: Any, index: Any) -> Any:
    """``value[index]``."""
    if type(index) is int and (type(value) is tuple or type(value) is list):
        return value[index]
    return elements(value)[index]


class _Elements:
    """A list, tuple or dictionary that is subscripted as the front end does it."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.value, dict):
            _check_key(index)
        elif isinstance(index, slice):
            _check_slice(index, len(self.value))
        return self.value[index]

    def __setitem__(self, index: Any, item: Any) -> None:
        if isinstance(self.value, dict):
            _check_key(index)
        elif isinstance(index, int) and index < 0:
            raise refusal(NEGATIVE_STORE)
        elif isinstance(index, slice):
            raise refusal(NEGATIVE_STORE, message="expecting positive 'integer', got 'slice'")
        self.value[index] = item


def _check_key(key: object) -> None:
    """Keys are strings; the front end has data types as strings as well."""
    if not isinstance(key, (str, np.dtype, Unmodelled)) or isinstance(key, Enum):
        raise refusal(DICT_SUBSCRIPT, kind(key))


def _check_slice(index: slice, length: int) -> None:
    if isinstance(index.step, int) and index.step <= 0:
        raise refusal(SLICE_BOUNDS, message="slice step cannot be zero or negative")
    if any(isinstance(bound, int) and not -length <= bound <= length for bound in (index.start, index.stop)):
        raise refusal(SLICE_BOUNDS)


def iterable(value: Any) -> Any:
    """``value`` where a loop goes over it or an assignment unpacks it."""
    if type(value) is not range and isinstance(value, (dict, str)):
        raise refusal(DICT_LOOP)
    return value


# --- functions and methods -------------------------------------------------------------------------------------------


def method(holder: Any, name: str) -> Any:
    """``holder.name``, which is called: the methods of Python's own values are those of the front end."""
    value_kind = "list" if type(holder) is list else "dict" if type(holder) is dict else ""
    if value_kind:
        return _container_method(holder, value_kind, name)
    if type(holder) in (str, tuple, int, float, bool):
        raise refusal(STRING_METHOD, name)
    return getattr(holder, name)


def _container_method(holder: Any, value_kind: str, name: str) -> Any:
    if name not in METHODS[value_kind]:
        unimplemented = f"unimplemented API builtin.list.{name}" if (value_kind, name) == ("list", "sort") else ""
        raise refusal(METHOD, name, value_kind, message=unimplemented)
    parameters = METHODS[value_kind][name].split(", ")[1:]
    bound = getattr(holder, name)

    def called(*args: Any, **kwargs: Any) -> Any:
        if len(args) + len(kwargs) > len(parameters):
            raise refusal(SURPLUS, f"{value_kind}.{name}", len(parameters))
        if value_kind == "dict" and args and parameters[0] == "key":
            _check_key(args[0])
        if name == "count":
            return len(holder)
        if name == "extend" and args:
            iterable(args[0])
        return bound(*args, **kwargs)

    return called


def function(called: Any) -> Any:
    """``called``, or what the front end has instead of a function of Python."""
    try:
        return _FUNCTIONS.get(called, called)
    except TypeError:  # not hashable
        return called


def _isinstance(value: Any, kinds: Any) -> bool:
    if isinstance(kinds, tuple) or not isinstance(kinds, type):
        raise refusal(INSTANCE_OF_TUPLE)
    is_one = isinstance(value, kinds)
    if is_one and type(value) is not kinds and (type(value) in _CHECKED or isinstance(value, (NKIObject, Enum))):
        raise refusal(BOOLEAN_INSTANCE, type(value).__name__, kinds.__name__)
    return is_one


def _len(value: Any) -> int:
    if isinstance(value, str):
        raise refusal(STRING_LENGTH, kind(value))
    return len(value)


def _list(*values: Any) -> list[Any]:
    return list(*(iterable(value) for value in values))


def _tuple(*values: Any) -> tuple[Any, ...]:
    return tuple(*(iterable(value) for value in values))


def _divmod(left: Any, right: Any) -> Any:
    _check_operands("//", left, right)
    return divmod(left, right)


def _bool(value: Any) -> bool:
    return bool(truth(value, whole=False))


def _extreme(chosen: Callable[[Iterable[Any]], Any]) -> Callable[..., Any]:
    def extreme(*args: Any) -> Any:
        """Of an int and a float the front end makes floats."""
        if len(args) == 2 and type(args[0]) is type(args[1]) is int:
            return chosen(args)
        numbers = list(args[0]) if len(args) == 1 and not isinstance(args[0], (dict, str)) else list(args)
        if len(args) > 2 or any(type(number) not in (int, float) for number in numbers):
            raise refusal(MIN_MAX)
        result = chosen(numbers)
        return float(result) if len({type(number) for number in numbers}) > 1 else result

    return extreme


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    isinstance: _isinstance,
    len: _len,
    list: _list,
    tuple: _tuple,
    divmod: _divmod,
    bool: _bool,
    min: _extreme(min),
    max: _extreme(max),
}

FUNCTION_NAMES = frozenset(called.__name__ for called in _FUNCTIONS)
METHOD_NAMES = frozenset(
    name for kind_ in (list, dict, str, tuple, int, float) for name in dir(kind_) if not name.startswith("_")
)
"""Names that a method of one of Python's own values has."""

_OTHERS: tuple[Callable[..., Any], ...] = (
    refuse,
    binary,
    augmented,
    negated,
    compared,
    comparison,
    truth,
    elements,
    element,
    iterable,
    method,
    function,
    type,
    int,
)
STAND_INS = {f"__nki_{stand_in.__name__}__": stand_in for stand_in in (*OF_INTS.values(), *_OTHERS)}
"""What stands in a kernel's code for Python's own operators, by the name that it has there."""
