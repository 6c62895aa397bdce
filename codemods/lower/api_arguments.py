"""Arguments that no document describes: what a function of NKI makes of them is not known, so the statement is left.

``nl.affine_range(0, n, step=4)`` is an example: Beta 1's signature is ``*args, **kwargs``, and a loop that is written
without the keyword may run more often. ``nl.load(x, m)`` is another: ``mask`` is a parameter by keyword only.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..expr.emission import Refuse
from ..expr.tables import is_function, is_parameter, is_refused, positional_limit, signature
from ..project.reaching_definitions import own_parts
from ..syntax.codes import LANGUAGE as CODE
from ..syntax.node_index import of_kinds

if TYPE_CHECKING:
    from ..analysis.scope import Scope


def check_arguments(scope: Scope, statement: ast.stmt) -> None:
    """Raise :class:`Refuse` for a statement that calls a function of NKI with such an argument."""
    if isinstance(statement, ast.FunctionDef):
        return  # its decorators have rules of their own
    for call in (call for part in own_parts(statement) for call in of_kinds(part, ast.Call)):
        name = scope.qualified(call.func) or ""
        if is_function(name) and not is_refused(name):
            _check_keywords(call, name)
            _check_positions(call, name)


def _check_keywords(call: ast.Call, name: str) -> None:
    for keyword in call.keywords:
        if keyword.arg is not None and not is_parameter(name, keyword.arg):
            what = f"{name} with '{keyword.arg}', which no document describes"
            raise Refuse(call, CODE, what, _HELP.get(name, "leave it out"))


def _check_positions(call: ast.Call, name: str) -> None:
    limit = positional_limit(name)
    if limit is not None and len(call.args) > limit:
        what = f"{name} with {len(call.args)} positional arguments, where the documents describe {limit}"
        raise Refuse(call, CODE, what, f"write it as the documents do: {signature(name)}")


_HELP = {f"nl.{loop}": "pass start, stop and step by position" for loop in ("affine_range", "sequential_range")}
_HELP["nl.static_range"] = _HELP["nl.affine_range"]
