"""``rows, *free = x.shape``: Beta 2 takes no starred target, and gets one assignment for each name."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..expr.emission import Refuse
from ..expr.values import Python, Several, Value
from ..render.expressions import render
from ..syntax.codes import LANGUAGE as CODE
from ..syntax.nodes import is_shape
from ..syntax.targets import names_of
from .call_results import named

if TYPE_CHECKING:
    from ..analysis.scope import Scope


def assign_starred(scope: Scope, target: ast.Tuple | ast.List, value: ast.expr) -> None:
    """Write an assignment with a starred target, element by element.

    The value is the shape of a tensor, or a sequence that has a name, as a tuple of tensors.
    """
    names = names_of(target)
    known = _sequence(scope, value, names)
    if known is None or len(names) < len(target.elts):
        raise Refuse(target, CODE, "a starred target of an assignment", "take the elements one by one")
    scope.apply(CODE, target)
    text = render(scope, value)
    star = next(place for place, element in enumerate(target.elts) if isinstance(element, ast.Starred))
    behind = len(names) - 1 - star
    if isinstance(known, Several):
        if len(known.parts) < len(names) - 1:
            raise Refuse(
                target, CODE, "a starred target of more elements than there are", "take the elements one by one"
            )
    elif behind:
        what = "dimensions" if is_shape(value) else "elements"
        scope.emit_assertion(f"len({text}) >= {len(names) - 1}", f"{len(names) - 1} {what} at least")
    for place, name in enumerate(names):
        from_end = f"len({text}) - {len(names) - place}"
        index = str(place) if place < star else from_end
        if place == star:
            stop = f" len({text}) - {behind}" if behind else ""
            scope.emit(f"{name} = list({text}[{star}:{stop}])")
        else:
            scope.emit(f"{name} = {text}[{index}]")
        scope.names.env[name] = named(_part(known, place, star, len(names)), name)


def _sequence(scope: Scope, value: ast.expr, names: list[str]) -> Value | None:
    """What is known of a sequence that is taken apart: a tuple of tensors, or of numbers (``Python``), or nothing.

    ``None`` for a tensor, for what has no name, and for what ``names`` bind again.
    """
    if is_shape(value) and isinstance(value.value, ast.Name):
        return Python() if value.value.id not in names else None
    if not isinstance(value, ast.Name) or value.id in names:
        return None
    known = scope.names.env.get(value.id, Value())
    return known if isinstance(known, Several) or type(known) in (Python, Value) else None


def _part(known: Value, place: int, star: int, count: int) -> Value:
    """What one name of a starred target gets; a list of tensors is followed no further."""
    if not isinstance(known, Several):
        return Python() if isinstance(known, Python) else Value()
    if place == star:
        return Value()
    return known.parts[place if place < star else place - count]
