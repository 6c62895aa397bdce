"""Numbers of NumPy's types that a module defines: NKI's front end takes them for ``None``. Part of NKI005.

It knows Python's numbers, and ``np.float64``, which is one of them. Source: KLR, ``interop/klr/gather.c``, ``value``.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..expr.emission import Refuse
from ..expr.values import OfNumpy, Value
from ..project.host import read_by_host
from ..syntax.nodes import parents_of
from .dtypes import numpy_type
from .type_names import limited_type
from .typed_numbers import COMPUTE, is_operand

if TYPE_CHECKING:
    from ..analysis.scope import Scope
    from ..project.program import Module

UNKNOWN = "?"
_OF_FLOATS = frozenset("sqrt exp exp2 log log2 log10 sin cos tan tanh arctan ceil floor rint float_power".split())
"""Functions of NumPy that make ``np.float64`` of Python's numbers."""
_OF_ANY = frozenset("abs absolute max min amax amin maximum minimum sum prod power dot add subtract multiply".split())
"""Functions of NumPy whose result has a type of its operands'."""


def numpy_number(scope: Scope, node: ast.expr, known: Mapping[str, Value]) -> str | None:
    """The type of NumPy's that a number of a module has: ``float32``, ``?`` where the source does not tell which.

    ``None`` for a number of Python's, and for what is none. ``known`` are the names of the module so far.
    """
    if isinstance(node, ast.Name):
        value = known.get(node.id)
        return value.dtype if isinstance(value, OfNumpy) else None
    if isinstance(node, ast.UnaryOp):
        return numpy_number(scope, node.operand, known)
    if isinstance(node, ast.BinOp):
        return _one_of({numpy_number(scope, side, known) for side in (node.left, node.right)})
    limited = limited_type(scope, node)
    if limited is not None:
        return scope.evaluator.type_name(scope, scope.evaluator.dtype_text(scope, limited)) or UNKNOWN
    return _of_call(scope, node, known) if isinstance(node, ast.Call) else None


def _of_call(scope: Scope, node: ast.Call, known: Mapping[str, Value]) -> str | None:
    made = numpy_type(scope, node)
    if made is not None:
        return made
    package, _, name = (scope.qualified(node.func) or "").partition(".")
    if package != "np" or name not in _OF_FLOATS | _OF_ANY:
        return None
    given = _one_of({numpy_number(scope, argument, known) for argument in node.args})
    return given if given is not None or name in _OF_FLOATS else UNKNOWN


def _one_of(dtypes: set[str | None]) -> str | None:
    found = dtypes - {None}
    return found.pop() if len(found) == 1 else UNKNOWN if found else None


def as_pythons(scope: Scope, node: ast.Name, known: OfNumpy, code: str) -> None:
    """Let the module define a number of NumPy's as one of Python's, which has the same value.

    Raises :class:`Refuse` where anything but instructions gets it, or code that no rule rewrites reads it.
    """
    functions = COMPUTE if known.dtype == "float32" else frozenset[str]()  # a float of Python's counts as it
    is_plain = is_operand(scope, node, parents_of(scope.function), known.dtype, functions)
    if known.made is None or not is_plain or read_by_host(scope.module, node.id):
        what = f"'{node.id}' is a number of NumPy's, which NKI's front end takes for None"
        raise Refuse(node, code, what, "write a number of Python's where it is defined")
    module = scope.module
    if not module.options.enabled(code):
        raise Refuse(node, code, *module.options.disabled(code))
    text, kind = scope.source.segment(known.made), "float" if "float" in known.dtype else "int"
    is_named = kind in known.dtype
    module.program.asked(_defined_as, module, known.made, f"{kind}({text})" if is_named else f"({text}).item()", code)


def _defined_as(module: Module, made: ast.expr, text: str, code: str) -> None:
    """The module defines a number by ``text``, whichever of its functions asks first."""
    plan, draft = module.whole, module.program.draft
    if made not in plan.edits.expressions:
        draft.put(plan.applied, code, plan.applied[code] + 1)
        draft.put(plan.edits.expressions, made, text)
