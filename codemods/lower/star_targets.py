"""``rows, *free = x.shape``: Beta 2 takes no starred target, and gets one assignment for each name."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..expr.emission import Refuse
from ..expr.values import Python
from ..render.expressions import render
from ..syntax.codes import LANGUAGE as CODE
from ..syntax.nodes import is_shape

if TYPE_CHECKING:
    from ..analysis.scope import Scope


def assign_starred(scope: Scope, target: ast.Tuple | ast.List, value: ast.expr) -> bool:
    """Write an assignment with a starred target, element by element. False where there is no star."""
    stars = [place for place, element in enumerate(target.elts) if isinstance(element, ast.Starred)]
    if not stars:
        return False
    names = [e.value if isinstance(e, ast.Starred) else e for e in target.elts]
    bound = [name.id for name in names if isinstance(name, ast.Name)]
    shape = is_shape(value) and isinstance(value.value, ast.Name)
    if not shape or len(bound) < len(names) or value.value.id in bound:  # type: ignore[attr-defined]  # a shape of a name
        raise Refuse(target, CODE, "a starred target of an assignment", "take the elements one by one")
    scope.apply(CODE, target)
    text, star = render(scope, value), stars[0]
    behind = len(names) - 1 - star
    if behind:
        scope.emit_assertion(f"len({text}) >= {len(names) - 1}", f"{len(names) - 1} dimensions at least")
    for place, name in enumerate(bound):
        from_end = f"len({text}) - {len(names) - place}"
        index = str(place) if place < star else from_end
        if place == star:
            stop = f" len({text}) - {behind}" if behind else ""
            scope.emit(f"{name} = list({text}[{star}:{stop}])")
        else:
            scope.emit(f"{name} = {text}[{index}]")
        scope.names.env[name] = Python()
    return True
