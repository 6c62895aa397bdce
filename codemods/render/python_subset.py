"""Python's own functions, methods and operators that kernels of Beta 2 do not have (rule NKI091).

Python itself traces a kernel of Beta 1. The front end of Beta 2 reads a part of Python: it stops at most of the rest,
but ``rows.pop(0)`` takes the last element there, and ``2 ** -1`` is 1.
Source: KLR's front end, as :mod:`nki_migrate.runtime.legality` has its tables.
"""

from __future__ import annotations

import ast
from functools import reduce
from typing import TYPE_CHECKING

from ..analysis.classes import class_in
from ..analysis.maybe_tensors import is_container
from ..analysis.own_functions import own_function
from ..expr.emission import Refuse
from ..expr.values import Python
from ..syntax.codes import LANGUAGE

if TYPE_CHECKING:
    from ..analysis.scope import Scope

ABSENT = frozenset(
    "all any ascii bin bytearray bytes callable chr complex dir enumerate filter format frozenset getattr hasattr hash "
    "hex id iter map next oct ord pow repr reversed round set setattr sorted sum vars zip".split()
)
"""Functions of Python that the front end has not; where something is written for one, nobody asks."""
OF_TEXT = frozenset(
    "capitalize endswith find format join lower lstrip replace rsplit rstrip split startswith strip title upper".split()
)
"""Methods of text: the front end has none."""
OF_LISTS = frozenset("count insert sort popitem update".split())
"""Methods of lists and dictionaries that the front end has not."""


def python_call(scope: Scope, node: ast.Call) -> str | None:
    """``max(a, b, c)`` as calls of two arguments; ``None`` for a call that stays.

    Raises :class:`Refuse` for a function or method of Python that the front end has not.
    """
    if isinstance(node.func, ast.Attribute):
        _check_method(scope, node, node.func)
        return None
    name = own_function(scope, node.func)
    if not name:
        return None
    if name in ABSENT:
        for argument in [*node.args, *(keyword.value for keyword in node.keywords)]:
            scope.evaluator.render(scope, argument)  # what is wrong with an argument is said first
        what = f"{name}(...) of these arguments, which Beta 2 does not have"
        raise Refuse(node, LANGUAGE, what, "compute it before the kernel, or write the loop", result=Python())
    plain = not node.keywords and not any(isinstance(argument, ast.Starred) for argument in node.args)
    if name in ("min", "max") and plain and len(node.args) > 2:
        scope.apply(LANGUAGE, node)
        given = [scope.evaluator.render(scope, argument) for argument in node.args]
        return reduce(lambda text, argument: f"{name}({text}, {argument})", given)
    return None


def check_subscript(node: ast.Subscript) -> None:
    """Raise :class:`Refuse` for ``rows[::-1]``."""
    step = node.slice.step if isinstance(node.slice, ast.Slice) else None
    if isinstance(step, ast.UnaryOp) and isinstance(step.op, ast.USub):
        raise Refuse(node, LANGUAGE, "a slice that goes backwards", "index with len(...) - 1 - i", result=Python())


def check_power(node: ast.BinOp | ast.UnaryOp | ast.Compare) -> None:
    """Raise :class:`Refuse` for ``2 ** -n``, which is 1 in Beta 2; ``n ** -0.5`` is what it was."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Pow):
        return
    parts = [node.left, node.right.operand if isinstance(node.right, ast.UnaryOp) else node.right]
    whole = not any(isinstance(part, ast.Constant) and isinstance(part.value, float) for part in parts)
    if whole and isinstance(node.right, ast.UnaryOp) and isinstance(node.right.op, ast.USub):
        what = "a negative power, which is 1 for whole numbers in Beta 2"
        raise Refuse(node, LANGUAGE, what, "write 1 / base ** exponent, or a base that is a float", result=Python())


def _check_method(scope: Scope, node: ast.Call, method: ast.Attribute) -> None:
    """Raise :class:`Refuse` for a method of text, lists or dictionaries that the front end has not."""
    holder = is_container(scope, method.value)
    place = node.args[0] if method.attr == "pop" and node.args else None
    from_place = isinstance(place, ast.Constant) and isinstance(place.value, int)
    if holder and (method.attr in OF_LISTS or from_place):
        what, help = f".{method.attr}(...) of a list or a dictionary", "write the loop, or build it in its order"
        raise Refuse(node, LANGUAGE, f"{what}, which Beta 2 does not have", help, result=Python())
    if method.attr in OF_TEXT and not holder and class_in(scope.module, scope.function, method.value) is None:
        what = f".{method.attr}(...) of text, which Beta 2 does not have"
        raise Refuse(node, LANGUAGE, what, "compute it before the kernel, or write an f-string", result=Python())
