"""ASC007 assignments: ``T.evaluate(buf[i].assign(value))`` becomes ``buf[i] = value``.

Why: an element of a buffer has no ``assign``; a store is an assignment.

Safe: the same element gets the same value. Left alone: an ``assign`` of anything but an element of a buffer, and one
in a ``with``, as the document has it.

Source: TVM script.
"""

from __future__ import annotations

import ast

from ...syntax.drafts import Draft
from ..module import AscendModule

CODE = "ASC007"
GOLDENS = ("ascend_views",)
VALID = ("T.evaluate(T.call_extern('x'))",)
INVALID = (("T.evaluate(x[0, i].assign(y[i] + 1.0))", "x[0, i] = y[i] + 1.0"),)


def rewrite(module: AscendModule) -> None:
    """Rewrite each statement; say what stays."""
    for call, _ in module.calls("evaluate"):
        inner = call.args[0] if len(call.args) == 1 else None
        function = inner.func if isinstance(inner, ast.Call) else None
        if not isinstance(inner, ast.Call) or not isinstance(function, ast.Attribute) or function.attr != "assign":
            continue
        element, statement = function.value, module.parents[call]
        if isinstance(element, ast.Subscript) and isinstance(statement, ast.Expr) and len(inner.args) == 1:
            text = f"{module.segment(element)} = {module.segment(inner.args[0])}"
            module.commit(Draft(CODE, call, [module.replace(call, text)]))
        else:
            module.leave(call, CODE, "an assign that is no store of its own", "write buf[i] = value")
