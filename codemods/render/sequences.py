"""``sum``, ``any``, ``all`` and ``sorted`` of a sequence: Beta 2 has none of them, and gets a loop.

The sum of a tuple whose elements the source shows is written out.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..expr import algebra
from ..expr.emission import Refuse
from ..expr.values import Hbm, Tile
from ..syntax.codes import LANGUAGE as CODE
from ..syntax.node_index import of_kinds, walk
from .support import sequence_function

if TYPE_CHECKING:
    from ..analysis.scope import Scope

FUNCTIONS = {"sum", "any", "all", "sorted"}
_WRITTEN_OUT = 4
"""The longest tuple whose sum is written out."""


def is_own(scope: Scope, call: ast.Call) -> bool:
    """Does a call mean one of Python's own functions of a sequence?"""
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    module = scope.module
    others = set(module.symbols.functions) | module.symbols.globals | set(module.symbols.imports)
    return name in FUNCTIONS and name not in scope.names.assigned and name not in others


def _holds_tensors(scope: Scope, node: ast.expr) -> bool:
    """Is there a tensor in a sequence: named in it, in what it stands for, or in what the function appends to it?"""
    shapes = {n.value for n in of_kinds(node, ast.Attribute) if n.attr == "shape"}
    held = {n.id for n in of_kinds(node, ast.Name) if n not in shapes}
    held |= {
        n for name in held if name in scope.sizes.definitions for n in algebra.names(scope.sizes.definitions[name])
    }
    for part in walk(scope.function):
        method = part.func if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) else None
        if method is not None and isinstance(method.value, ast.Name) and method.value.id in held:
            names = (n for n in of_kinds(part, ast.Name))
            held |= {n.id for n in names} if method.attr in ("append", "extend", "insert") else set()
    return any(isinstance(scope.names.env.get(name), Hbm | Tile) for name in held)


def sequence_call(scope: Scope, call: ast.Call) -> str | None:
    """Beta 2 text of ``sum(values)`` or another one of the functions; ``None`` for any other call."""
    if not isinstance(call.func, ast.Name) or not is_own(scope, call) or len(call.args) != 1 or call.keywords:
        return None
    if _holds_tensors(scope, call.args[0]):
        raise Refuse(call, CODE, f"the {call.func.id} of tensors", "write one instruction for each of them")
    argument = call.args[0]
    scope.apply(CODE, call)
    name = argument.id if isinstance(argument, ast.Name) else ""
    shown = algebra.parse(scope.sizes.definitions[name]) if name in scope.sizes.definitions else argument
    elements = shown.elts if isinstance(shown, ast.Tuple) and call.func.id == "sum" else []
    if 1 < len(elements) <= _WRITTEN_OUT and not any(isinstance(e, ast.Starred) for e in elements):
        parts = [
            f"{name}[{i}]" if name else algebra.paren(scope.evaluator.render(scope, e)) for i, e in enumerate(elements)
        ]
        return f"({' + '.join(parts)})"
    text = scope.evaluator.render(scope, argument)
    values = text[1:-1] if isinstance(argument, ast.GeneratorExp) else text  # a generator has the brackets of its call
    return f"{sequence_function(scope, call.func.id)}({values})"
